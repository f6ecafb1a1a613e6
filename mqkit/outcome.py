"""The outcome of a publish: a value with three states, not an exception.

``Confirmed`` - the broker has taken responsibility for the message in every queue it was routed to.
``Rejected`` - the broker has said no, and why. A nack means "not in every queue": some may have it.
``Unknown`` - the link failed or the deadline passed first: the broker may have the message, unless
it was never sent. Publish again under the same ``message_id`` when a duplicate is better than a
loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class RejectReason(StrEnum):
    """The reasons for a rejected message: the broker refused it, or could not be given it."""

    UNROUTABLE = "unroutable"
    """No queue is bound for the routing key (``basic.return``, reply code 312)."""
    NACKED = "nacked"
    """``basic.nack``: not in every queue it was routed to (an overflow, or a failed disk)."""
    TOO_LARGE = "too large"
    """The body is over the broker's maximum message size; it was not sent, or was refused."""
    NO_EXCHANGE = "no such exchange"
    """The broker closed the channel with 404."""
    REFUSED = "refused"
    """The broker closed the channel for another reason, or AMQP can't carry the message (a name
    over 255 bytes, a header of a type that it has not) and it was not sent; ``detail`` says which.
    """
    BLOCKED = "blocked"
    """The broker blocks publishers (``connection.blocked``), and the caller did not want to wait:
    it was not sent. ``detail`` has the broker's own reason."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The broker confirmed the message (``basic.ack``). Truthy, as is any object that says nothing
    else: without a method for it, ``all(outcomes)`` calls none."""

    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The broker refused the message: sending it again unchanged will be refused again, unless
    the reason is :attr:`RejectReason.NACKED` or :attr:`RejectReason.BLOCKED`, which may pass."""

    reason: RejectReason
    detail: str = ""
    message_id: str | None = None

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows: the broker may have the message. ``detail`` says what happened."""

    detail: str
    message_id: str | None = None
    sent: bool = True
    """False if no octet of the message was given to any connection: the broker can't have it."""

    def __bool__(self) -> bool:
        return False


Outcome: TypeAlias = Confirmed | Rejected | Unknown
"""The result of :meth:`mqkit.App.publish`; ``match`` on it. Truthy only when confirmed."""
