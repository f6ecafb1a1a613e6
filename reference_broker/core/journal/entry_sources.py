"""Several entry sources as one: those who know which entries of a log are alive. Each has queues of
its own: a broker those that it serves, a replica the one that it mirrors."""

from __future__ import annotations

from collections.abc import Iterator

from reference_broker.core.journal.journal import EntryColumns, EntrySource


class EntrySources:
    """The entry sources of one log; an :class:`EntrySource` itself."""

    __slots__ = ("_sources",)

    def __init__(self) -> None:
        self._sources: list[EntrySource] = []

    def __len__(self) -> int:
        """The number of sources."""
        return len(self._sources)

    def add(self, source: EntrySource) -> None:
        """Ask ``source``, too. It has to have its entries before anything else is logged."""
        self._sources.append(source)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        """The entries that any of them has."""
        for source in self._sources:
            yield from source.live_entries(queue_id, start, end)
