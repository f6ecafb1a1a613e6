"""Old keys, deleted in slices: one now and then, in a transaction of its own, after a message."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, select, tuple_
from sqlalchemy.orm import Session

from mqkit.inbox.tables import InboxRow

SLICE = 1000
"""Rows of one transaction: it takes a few milliseconds."""
EVERY_S = 60.0
"""From one look to the next, where the last one has found less than a slice."""


def utc_now() -> datetime:
    """The time of this machine, which ages are measured by."""
    return datetime.now(UTC)


class Cleaning:
    """Says when a slice is due, and deletes it."""

    def __init__(self, keep: timedelta, now: Callable[[], datetime] = utc_now) -> None:
        self.keep = keep
        self.now = now
        self._due_at = now()

    def take(self) -> bool:
        """True if a slice is due: it is the caller's then, and nobody else's."""
        now = self.now()
        if now < self._due_at:
            return False
        self._due_at = now + timedelta(seconds=EVERY_S)
        return True

    def clean(self, session: Session) -> int:
        """Delete a slice of the oldest keys that are old enough. The next is due at once if this
        one was full."""
        key = tuple_(InboxRow.consumer, InboxRow.key)
        old = session.execute(
            select(InboxRow.consumer, InboxRow.key)
            .where(InboxRow.handled_at < self.now() - self.keep)
            .order_by(InboxRow.handled_at)
            .limit(SLICE)
        ).all()
        if old:
            session.execute(delete(InboxRow).where(key.in_([tuple(row) for row in old])))
        if len(old) == SLICE:
            self._due_at = self.now()
        return len(old)
