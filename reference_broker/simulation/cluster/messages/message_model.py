"""The messages that clients have sent, and what has become of each copy as far as they know."""

from __future__ import annotations

from dataclasses import dataclass, field

Life = tuple[str, int] | None
"""A node and its run: the process that has a copy. ``None`` where nobody knows which that was."""


@dataclass(slots=True)
class MessageCopy:
    """The copy of a message in one queue."""

    life: Life
    fresh: int = 0
    """Deliveries that clients have seen that were not marked as redelivered."""
    is_settled: bool = False
    """A client has acked or rejected it, though that may have been lost on the way."""
    is_surely_gone: bool = False
    """And its ack has reached the home."""
    is_ordered: bool = True
    """Nothing that was published before may have been given back unseen."""


@dataclass(slots=True)
class SentMessage:
    """A message, by its number, and its copies by queue. ``confirmed`` is ``None`` until its
    publisher is told."""

    number: int
    publisher: int
    body: bytes
    copies: dict[str, MessageCopy] = field(default_factory=dict)
    confirmed: bool | None = None


def number_in(body: bytes) -> int:
    """The number of the message with that body."""
    return int(body.split(b" ", 1)[0])
