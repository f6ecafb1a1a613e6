"""recording_journal: records in order, reads when the test wants them, mistakes caught."""

from __future__ import annotations

from array import array

import pytest

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.testing.recording_journal import RECORD_BYTES, Fetch, RecordingJournal


def message(body: bytes = b"body") -> Content:
    return Content(b"", b"header", body)


def test_records_begin_with_the_verb() -> None:
    journal, content = RecordingJournal(), message()
    journal.publish((Entry(1, 0),), content)
    journal.ack(1, 0, content.position, content.stored)
    assert journal.records == [("publish", (Entry(1, 0),), b"body"), ("ack", 1, 0, 0)]
    assert (journal.tail, journal.synced) == (2, 0)


def test_an_ack_must_say_what_the_message_has_taken() -> None:
    journal, content = RecordingJournal(), message()
    journal.publish((Entry(1, 0),), content)
    assert content.stored == len(content.body) + RECORD_BYTES
    with pytest.raises(AssertionError):
        journal.ack(1, 0, content.position, content.stored + 1)


def test_the_live_entries_are_those_that_no_record_has_ended() -> None:
    journal, contents = RecordingJournal(), [message(), message(), message()]
    assert journal.publish_run(Entry(1, 0), contents) == 3
    assert journal.ack_run(1, 0, contents[:1]) == 1
    first = contents[1]
    journal.move(1, 1, first.position, first.stored, (Entry(2, 0),), message())
    assert journal.live() == [(1, 2), (2, 0)]


def test_a_fetch_waits_for_its_answer_and_what_is_damaged_is_none() -> None:
    journal, contents = RecordingJournal(), [message(b"0"), message(b"1")]
    journal.publish_run(Entry(1, 0), contents)
    journal.fetch(1, array("Q", (0, 1)), array("q", (0, 1)))
    assert journal.fetches == [Fetch(1, (0, 1), (0, 1))]
    journal.damaged[1] = None
    answer = journal.answer()
    (_, read), (_, lost) = answer.contents
    assert read is not None
    assert read is not contents[0]
    assert (bytes(read.body), lost) == (b"0", None)
    assert not journal.fetches


def test_a_queue_fetches_once_at_a_time() -> None:
    journal = RecordingJournal()
    journal.fetch(1, array("Q", (0,)), array("q", (0,)))
    with pytest.raises(AssertionError):
        journal.fetch(1, array("Q", (1,)), array("q", (1,)))


def test_pages_have_positions_below_those_of_the_log_unless_there_are_none() -> None:
    journal, content = RecordingJournal(), message()
    position = journal.page(content)
    assert position < NOT_STORED
    assert journal.message(position) is content
    journal.unpage(position)
    assert not journal.pages
    assert RecordingJournal(has_pages=False).page(content) == NOT_STORED
