"""A finding of the doctor: a check, the object that it is about, why, and the command that mends
it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Severity(StrEnum):
    """``error``: messages that come there are lost. ``warning``: they may be lost, or lie there
    for good. ``remark``: worth a look."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return list(Severity).index(self)


class Check(StrEnum):
    """The stable names of the checks."""

    DEAD_LETTER_EXCHANGE_MISSING = "dead-letter-exchange-missing"
    DEAD_LETTER_UNROUTED = "dead-letter-unrouted"
    DEAD_LETTER_RING = "dead-letter-ring"
    AT_LEAST_ONCE_VOID = "at-least-once-void"
    ALTERNATE_MISSING = "alternate-missing"
    EXTERNAL_MISSING = "external-missing"
    OWNER_GONE = "owner-gone"
    QUEUE_FULL = "queue-full"
    EXCHANGE_UNBOUND = "exchange-unbound"
    QUORUM_DROPS = "quorum-drops"
    MESSAGE_TTL_RETRY = "message-ttl-retry"
    TIER_LEFT_OVER = "tier-left-over"
    DELAY_LEFT_OVER = "delay-left-over"
    LOT_UNWATCHED = "lot-unwatched"
    QUEUE_UNCONSUMED = "queue-unconsumed"
    QUEUE_UNREACHED = "queue-unreached"
    REFUSED = "refused"


_ERRORS = (
    Check.DEAD_LETTER_EXCHANGE_MISSING,
    Check.DEAD_LETTER_UNROUTED,
    Check.DEAD_LETTER_RING,
    Check.ALTERNATE_MISSING,
    Check.EXTERNAL_MISSING,
    Check.OWNER_GONE,
    Check.QUEUE_FULL,
    Check.REFUSED,
)
SEVERITIES = MappingProxyType(
    {
        check: (
            Severity.ERROR
            if check in _ERRORS
            else Severity.REMARK
            if check is Check.QUEUE_UNREACHED
            else Severity.WARNING
        )
        for check in Check
    }
)
"""The severity of each check."""


class Kind(StrEnum):
    """The kind of object that a finding is about."""

    EXCHANGE = "exchange"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class Mend:
    """A command line of mqkit's, and what a person does ``first``: a change of the file, say."""

    command: str
    first: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """``why`` is one sentence. ``file`` and ``line`` are where the object stands, if a file has
    it; ``keys`` are the keys of the object that the line is looked for at; where the file
    has no such object, the line is that of its ``owner``. ``messages`` lie in the queue, where that
    is known."""

    check: Check
    kind: Kind
    name: str
    why: str
    mend: Mend
    keys: tuple[str, ...] = ()
    messages: int | None = None
    owner: str = ""
    file: str | None = None
    line: int = 0

    @property
    def severity(self) -> Severity:
        """The severity of its check."""
        return SEVERITIES[self.check]

    @property
    def place(self) -> str:
        """``topology.yaml:7``, or nothing where no file has the object."""
        if self.file is None:
            return ""
        return f"{self.file}:{self.line}" if self.line else self.file

    def to_dict(self) -> dict[str, Any]:
        """For programs; the names are stable."""
        return {
            "check": str(self.check),
            "severity": str(self.severity),
            "kind": str(self.kind),
            "name": self.name,
            "why": self.why,
            "messages": self.messages,
            "file": self.file,
            "line": self.line or None,
            "first": self.mend.first or None,
            "command": self.mend.command,
        }
