"""The outcome of one look through a lot. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True)
class Looked:
    """The counts of one look: of ``total`` messages that lay there, those that were seen, went
    back, were archived, and stayed.

    ``undated`` ones stayed because they don't say since when they lie there. ``next_due`` is the
    first moment at which there is something to do with one that stayed. ``refused`` and
    ``archive_fault`` are the first reasons why messages stayed although they were due;
    ``delivery_limit`` says that looking on would have the broker drop them.
    """

    total: int
    seen: int = 0
    returned: int = 0
    archived: int = 0
    undated: int = 0
    next_due: datetime | None = None
    refused: str = ""
    archive_fault: str = ""
    delivery_limit: bool = False
    is_led: bool = True

    @property
    def left(self) -> int:
        """The messages that were seen, and stay."""
        return self.seen - self.returned - self.archived

    @property
    def unseen(self) -> int:
        """The messages that lie behind those that a look holds."""
        return max(0, self.total - self.seen) if self.is_led else 0

    def note_due(self, until: datetime | None) -> None:
        """A message stays until then."""
        if until is not None and (self.next_due is None or until < self.next_due):
            self.next_due = until
