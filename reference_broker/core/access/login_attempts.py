"""Counts of right and wrong logins by protocol, since the start or the last reset."""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple


@unique
class LoginProtocol(Enum):
    """Protocols of a login, by RabbitMQ's names, in the order in which they are shown."""

    HTTP = "http"
    AMQP = "amqp091"


class AttemptCount(NamedTuple):
    """Logins over one protocol."""

    protocol: LoginProtocol
    succeeded: int
    failed: int


class LoginAttempts:
    """Counts them. A request or a connection without any login is no attempt."""

    __slots__ = ("_failed", "_succeeded")

    def __init__(self) -> None:
        self.reset()

    def note(self, protocol: LoginProtocol, succeeded: bool) -> None:
        """Somebody has tried to log in."""
        counts = self._succeeded if succeeded else self._failed
        counts[protocol] += 1

    def reset(self) -> None:
        """Begin anew."""
        self._succeeded = dict.fromkeys(LoginProtocol, 0)
        self._failed = dict.fromkeys(LoginProtocol, 0)

    def counts(self) -> list[AttemptCount]:
        """Those of protocols over which somebody has tried."""
        return [
            AttemptCount(protocol, self._succeeded[protocol], self._failed[protocol])
            for protocol in LoginProtocol
            if self._succeeded[protocol] or self._failed[protocol]
        ]
