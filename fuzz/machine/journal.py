"""A journal that is synced when somebody says so: confirms have to wait for that."""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.core.journal.journal import Entry, MemoryJournal
from reference_broker.core.message.content import Content


class PatientJournal(MemoryJournal):
    """Keeps nothing, and says it has until :meth:`LoneBroker.sync`."""

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        self._append()

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        self._append()
        return len(contents)

    def _append(self) -> int:
        position = self.tail
        self.tail = position + 1
        return position
