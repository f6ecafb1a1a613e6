"""Several entry sources: each queue's entries are found, whoever has them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from reference_broker.core.journal.entry_sources import EntrySources
from reference_broker.core.journal.journal import EntryColumns


class OneEntry:
    """A source that has one entry, of one queue, at position 10 times its queue's id."""

    def __init__(self, queue_id: int) -> None:
        self.queue_id = queue_id

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        position = 10 * queue_id
        if queue_id == self.queue_id and start <= position < end:
            positions, sizes = array("q", [position]), array("I", [4])
            yield EntryColumns(queue_id, range(1, 2), positions, sizes, sizes, b"\x00", None)


def test_an_entry_is_found_whichever_source_has_it() -> None:
    sources = EntrySources()
    assert (len(sources), list(sources.live_entries(1, 0, 100))) == (0, [])
    sources.add(OneEntry(1))
    sources.add(OneEntry(2))
    found = [list(sources.live_entries(queue_id, 0, 100)) for queue_id in (1, 2, 3)]
    assert [[each.queue_id for each in columns] for columns in found] == [[1], [2], []]
    assert list(sources.live_entries(2, 0, 20)) == []
    assert len(sources) == 2
