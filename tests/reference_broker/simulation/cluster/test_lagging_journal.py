"""lagging_journal: what is logged is not synced until the disk says so."""

from __future__ import annotations

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.simulation.cluster.lagging_journal import LaggingJournal


def _content(body: bytes) -> Content:
    return Content(b"", b"", body)


def test_a_message_is_synced_with_its_position() -> None:
    journal = LaggingJournal(3)
    journal.publish((Entry(1, 0), Entry(2, 0)), _content(b"a"))
    after_first = journal.tail
    journal.publish_run(Entry(1, 1), [_content(b"b")])
    assert journal.epoch == 3
    assert (journal.synced, journal.has_synced(1, b"a")) == (0, False)
    journal.synced_up_to(after_first)
    assert journal.has_synced(1, b"a")
    assert journal.has_synced(2, b"a")
    assert not journal.has_synced(1, b"b")
    journal.synced_up_to(journal.tail)
    assert journal.has_synced(1, b"b")


def test_other_records_move_the_tail_too() -> None:
    journal = LaggingJournal(1)
    journal.define("key", b"value")
    assert (journal.tail, journal.synced) == (1, 0)
