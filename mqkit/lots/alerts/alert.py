"""An alert: a limit of a queue that was reached, or is not reached any more. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class AlertKind(StrEnum):
    """A thing to be alarmed about."""

    DEPTH = "depth"
    """So many messages are ready in the queue."""
    AGE = "age"
    """The message at the head of the lot lies there for so long, in seconds."""
    ARCHIVE = "archive"
    """Messages are due, and can't be archived: they stay in the lot."""
    REPLAY = "replay"
    """Messages are due, and can't be sent back: they stay in the lot."""
    UNDATED = "undated"
    """So many messages do not say since when they lie there: the clock leaves them alone."""
    UNSEEN = "unseen"
    """So many messages lie behind more than one look can hold."""
    DELIVERY_LIMIT = "delivery-limit"
    """Looks count as deliveries, and one more might have the broker drop a message."""
    MISSING = "missing"
    """The queue is not on the broker."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A thing as it was measured: ``is_on`` if there is something to be alarmed about. ``text``
    says in words what is known, and never has a header or body of a message."""

    kind: AlertKind
    is_on: bool
    value: float = 0
    limit: float = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert about ``queue``: ``is_over`` when what was alarming is so no more.

    ``value`` and ``limit`` are messages, or seconds for an age; 0 where there is nothing to count.
    """

    kind: AlertKind
    queue: str
    at: datetime
    is_over: bool
    value: float = 0
    limit: float = 0
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The alert as plain values, for webhooks and ``--json``; the names in it are stable."""
        return {
            "event": "over" if self.is_over else "crossed",
            "alert": str(self.kind),
            "queue": self.queue,
            "value": self.value,
            "limit": self.limit,
            "text": str(self),
            "time": self.at.isoformat(),
        }

    def __str__(self) -> str:
        if self.is_over:
            return f"{self.queue}: {self.kind} alert is over"
        return f"{self.queue}: {self.text or self.kind}"
