"""The way in: journaling of a fan-out, refusals, and what is marked dirty."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties(delivery_mode=1))


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    return QueueHost(journal)


def test_a_fan_out_is_one_record_with_an_entry_per_durable_queue(
    host: QueueHost, journal: RecordingJournal
) -> None:
    one, memory, two = (
        host.declare("one", message_ttl=500),
        host.declare("memory", durable=False),
        host.declare("two", max_priority=3),
    )
    header = encode_header(1, Properties(delivery_mode=2, priority=9))
    assert host.publish((one, memory, two), b"x", header=header)
    start = 1 << 32
    assert journal.records == [
        (
            "publish",
            (
                Entry(one.id, start, host.moment.wall_ms + 500, 0),
                Entry(two.id, (3 << 55) + start, 0, 3),
            ),
            b"x",
        )
    ]
    for settle in (lambda lease: memory.requeue([lease]), memory.reject):
        lease = memory.get(None)
        assert lease is not None
        settle(lease)
    assert len(journal.records) == 1, "the memory queue shares the content, but not the log"
    assert (one.ready, two.ready) == (1, 1)


def test_a_transient_fan_out_is_not_journaled(host: QueueHost, journal: RecordingJournal) -> None:
    queues = host.declare("one"), host.declare("two")
    assert host.publish(queues, b"x", header=TRANSIENT)
    assert journal.records == []
    assert [queue.ready for queue in queues] == [1, 1]


def test_one_refusal_is_a_nack_and_the_others_have_it(
    host: QueueHost, journal: RecordingJournal
) -> None:
    full = host.declare("full", max_length=0, overflow="reject-publish")
    free, free_too = host.declare("free"), host.declare("free too")
    assert not host.publish((free, full, free_too), b"x", header=PERSISTENT)
    assert [queue.ready for queue in (free, full, free_too)] == [1, 0, 1]
    ((_, entries, _),) = journal.records
    assert [entry.queue_id for entry in entries] == [free.id, free_too.id]
    assert not host.publish((full, host.declare("b", max_length=0, overflow="reject-publish")),
                            b"x", header=PERSISTENT)  # fmt: skip
    assert len(journal.records) == 1


def test_no_queue_at_all_is_no_refusal(host: QueueHost, journal: RecordingJournal) -> None:
    assert enqueue((), Content(b"\0\0", PERSISTENT, b""), facts_of(PERSISTENT), host)
    assert journal.records == []


def test_the_position_is_the_journals(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", header=PERSISTENT)
    host.publish(queue, b"c", header=TRANSIENT)
    leases = [lease for _ in range(3) if (lease := queue.get(None))]
    assert [lease.content.position for lease in leases] == [0, 1, -1]


def test_a_queue_is_marked_dirty_once_and_dispatched_at_the_end(host: QueueHost) -> None:
    queue = host.declare("q")
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.publish(queue, b"a", b"b", header=PERSISTENT, settle=False)
    assert consumer.bodies == []
    assert queue.dirty
    assert list(host._dirty) == [queue]
    host.settle()
    assert consumer.bodies == [b"a", b"b"]
    assert not queue.dirty
