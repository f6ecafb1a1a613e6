"""Events of the clock: who leads, what goes back, what is archived. For logs, and ``--json``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias


class EventKind(StrEnum):
    """Something that happened to a lot."""

    LEADING = "leading"
    """This process runs the lot from now on."""
    WAITING = "waiting"
    """Another process runs it; told once."""
    SENDING = "sending"
    """A window is about to go back: where nothing follows, its messages may be there twice."""
    RETURNED = "returned"
    """The messages of the window that were confirmed and acked."""
    ARCHIVING = "archiving"
    """As ``sending``, for a window that is about to be written."""
    ARCHIVED = "archived"
    FAILED = "failed"
    """Something did not work, and is tried again; ``reason`` says what to do."""
    LOOKED = "looked"
    """The counts of one look."""


WINDOWS = frozenset(
    (EventKind.SENDING, EventKind.RETURNED, EventKind.ARCHIVING, EventKind.ARCHIVED)
)
"""Events that name the messages of a window."""


@dataclass(frozen=True, slots=True)
class LotEvent:
    """One event. ``ids`` are message ids, empty text for a message without one."""

    kind: EventKind
    lot: str
    at: datetime
    count: int = 0
    ids: tuple[str, ...] = ()
    reason: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The event as plain values, for ``--json``; the names in it are stable."""
        shown: dict[str, Any] = {
            "event": str(self.kind),
            "lot": self.lot,
            "time": self.at.isoformat(),
        }
        if self.kind in WINDOWS:
            shown |= {"count": self.count, "ids": list(self.ids)}
        if self.reason:
            shown["reason"] = self.reason
        return {**shown, **self.counts}


OnEvent: TypeAlias = Callable[[LotEvent], None]
