"""The job of a publishing lane: messages of one call that follow each other, and their caller."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from mqkit.message import Message
from mqkit.outcome import Outcome


class Job(Protocol):
    """One message on its way through a lane, or several of one call. Positions count from 0."""

    done: asyncio.Future[Any]
    """Done when the caller waits no more: then the job needs no publishing."""
    alone: bool
    """To be written with nothing else in flight: the broker may close the channel for it."""

    @property
    def count(self) -> int:
        """The number of messages."""
        ...

    @property
    def octets(self) -> int:
        """The size of their bodies together."""
        ...

    def to_write(self) -> Sequence[Message]:
        """The messages, which are handed to a channel now: they count as sent."""
        ...

    def part(self, start: int, stop: int) -> Job:
        """The messages from ``start`` up to, without, ``stop``, as a job."""
        ...

    def settle(self, position: int, outcomes: Sequence[Outcome]) -> None:
        """The final outcomes of the messages from ``position`` on: once for each message. What
        comes after the caller has its answer changes nothing."""
        ...

    def fail(self, error: BaseException) -> None:
        """The call as a whole ends with an error: the caller's mistake, not the broker's answer."""
        ...


def unsettled(was_sent: bool, why: str) -> str:
    """Why a message has no outcome, in words."""
    fate = "was sent, but not confirmed" if was_sent else "was never sent"
    return f"the message {fate} {why}"
