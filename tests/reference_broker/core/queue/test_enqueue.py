"""Enqueueing: journaling of a fan-out, refusals, the dirty mark, and two ways that must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqkit.wire import Properties, encode_header
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue, store
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.transfer import Departure
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


HEADERS = [
    *(PERSISTENT, PERSISTENT, TRANSIENT),
    encode_header(1, Properties(delivery_mode=2, priority=3)),
    encode_header(1, Properties(delivery_mode=2, expiration="50")),
]
WINDOWS = [0, 1, *(n * MESSAGE_OVERHEAD_BYTES + more for n in (1, 2) for more in (0, 1, 31)), 10**6]
STEPS = st.lists(
    st.tuples(st.sampled_from(HEADERS), st.sampled_from([0, 1, 30, 90]), st.booleans()),
    min_size=1,
    max_size=6,
)
"""Header and body size of a message, and true where one is taken from the queue before it."""


def books(queue: Queue) -> tuple[object, ...]:
    journal = queue.env.journal
    assert isinstance(journal, RecordingJournal)
    backlog = queue.backlog
    entries = [
        entry
        for index in queue.indexes()
        for sequence, _, _ in index.ready_from(0)
        if (entry := (sequence, index.entry(sequence)))
    ]
    return (
        *(list(queue.contents), backlog.absent, backlog.absent_bytes, queue.header_bytes),
        *(queue.ready, queue.ready_bytes, queue.published, queue.memory_bytes),
        *(entries, [record for record in journal.records if record[0] == "publish"]),
    )


class ForgettingJournal(RecordingJournal):
    """Gives positions to messages of even size only: the others are in memory or nowhere."""

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        super().publish(entries, content)
        if len(content.body) % 2:
            content.position, content.stored = NOT_STORED, 0


def small_host(size_bytes: int) -> QueueHost:
    """A host of queues whose window is ``size_bytes``."""
    host = QueueHost(ForgettingJournal())
    host.window.size_bytes = size_bytes
    return host


@given(
    STEPS,
    st.sampled_from(WINDOWS),
    st.sampled_from([True, True, False]),
    st.sampled_from([{}, {}, {"max_priority": 5}, {"queue_type": "quorum"}, {"message_ttl": 90}]),
)
@example([(PERSISTENT, 1, False)], 0, True, {"max_priority": 5})
def test_a_publish_stays_in_memory_exactly_where_any_other_arrival_does(
    steps: list[tuple[bytes, int, bool]], window: int, durable: bool, arguments: dict[str, Any]
) -> None:
    """:func:`enqueue` writes out what :func:`store` does: for fan-outs, and for dead letters."""
    durable = durable or "queue_type" in arguments
    seen = []
    for way in ("enqueue", "store", "letter"):
        host = small_host(window)
        origin = host.declare("origin", durable=False)
        queue = host.declare("q", durable=durable, **arguments)
        for header, size, taking in steps:
            if taking:
                queue.get(None)
            content = Content(b"\0\1q", header, b"x" * size)
            facts = facts_of(header)
            if way == "enqueue":
                assert enqueue((queue,), content, facts, host)
            elif way == "store":
                store([queue], content, facts, host)
            else:
                host.publish(origin, b"", header=TRANSIENT)
                lease = origin.get(None)
                assert lease is not None
                departure = origin.depart(lease)
                assert isinstance(departure, Departure)
                store([queue], content, facts, host, departure)
        seen.append(books(queue))
    assert seen[0] == seen[1] == seen[2]


def test_a_body_may_be_larger_than_the_room_that_is_left() -> None:
    """One octet of room is room, and none is none; behind an absent message nothing stays."""
    for room, kept in ((0, 3), (1, 4)):
        queue = small_host(3 * MESSAGE_OVERHEAD_BYTES + room).declare("q")
        for size in (0, 0, 0, 500, 0):
            enqueue((queue,), Content(b"\0\1q", PERSISTENT, b"x" * size),
                    facts_of(PERSISTENT), queue.env)  # fmt: skip
        assert (len(queue.contents), queue.backlog.absent) == (kept, 5 - kept)
