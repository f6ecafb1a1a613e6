"""The job of a publishing lane: messages of one call that follow each other, and their caller."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from mqkit.message import Message
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.terms import Terms


class Job(Protocol):
    """One message on its way through a lane, or several of one call. Positions count from 0."""

    done: asyncio.Future[Any]
    """Done when the caller waits no more: then the job needs no publishing."""
    alone: bool
    """To be written with nothing else in flight: the broker may close the channel for it."""

    @property
    def terms(self) -> Terms:
        """The terms of the call."""
        ...

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

    def refuse(self, reason: str) -> None:
        """The broker blocks, for this reason: the final outcome of all the messages, none of which
        was written."""
        ...

    def fail(self, error: BaseException) -> None:
        """The call as a whole ends with an error: the caller's mistake, not the broker's answer."""
        ...


def blocked(message: Message, reason: str) -> Rejected:
    """The outcome of a message that did not wait for a broker that blocks."""
    return Rejected(RejectReason.BLOCKED, reason, message.properties.message_id)


def unsettled(message: Message, sent: bool, why: str) -> Unknown:
    """The outcome of a message whose time is over: ``why`` says what was waited for."""
    fate = "was sent, but not confirmed" if sent else "was never sent"
    return Unknown(f"the message {fate} {why}", message.properties.message_id, sent)


def too_large(message: Message, octets_max: int) -> Rejected:
    """The outcome of a message with a larger body than ``octets_max``; it was not sent."""
    detail = f"{len(message.body)} bytes; the limit is {octets_max} (max_message_bytes)"
    return Rejected(RejectReason.TOO_LARGE, detail, message.properties.message_id)
