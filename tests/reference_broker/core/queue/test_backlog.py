"""Messages that are not in memory: every way out of a queue, with answers that come when they like.

``host`` has a window of one message, so that all but the first are absent; the journal answers a
fetch when the test says so.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.index.index import CHUNK_ENTRIES
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.queue import backlog
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties())


def expiring(milliseconds: int) -> bytes:
    return encode_header(1, Properties(delivery_mode=2, expiration=str(milliseconds)))


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    host = QueueHost(journal)
    host.window.size_bytes = 1
    return host


def bodies_of(queue: Queue) -> list[bytes]:
    """Bodies of the ready messages in memory, in order of arrival there."""
    return [bytes(content.body) for content in queue.contents.values()]


def got(queue: Queue) -> bytes | None:
    lease = queue.get(None)
    return None if lease is None else bytes(lease.content.body)


def test_what_does_not_fit_the_window_is_on_disk_only(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"bb", b"ccc", header=PERSISTENT)
    assert bodies_of(queue) == [b"a"]
    assert (queue.ready, queue.ready_bytes) == (3, 6)
    assert (queue.backlog.absent, queue.backlog.absent_bytes) == (2, 5)
    assert queue.header_bytes == len(PERSISTENT)
    assert queue.backlog.resident_bytes == 1 + MESSAGE_OVERHEAD_BYTES


def test_what_is_not_on_disk_stays_in_memory_and_in_its_place(host: QueueHost) -> None:
    queue = host.declare("q")
    for body in (b"a", b"B", b"c", b"D"):
        host.publish(queue, body, header=TRANSIENT if body.isupper() else PERSISTENT)
    assert bodies_of(queue) == [b"a", b"B", b"D"]
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == [b"a", b"B"]
    host.answer_fetches()
    assert consumer.bodies == [b"a", b"B", b"c", b"D"]


def test_a_queue_that_is_not_durable_never_relies_on_the_log_for_a_shared_message(
    host: QueueHost, journal: RecordingJournal
) -> None:
    durable, fleeting = host.declare("q"), host.declare("m", durable=False)
    host.publish((durable, fleeting), b"a", b"b", header=PERSISTENT)
    assert (durable.backlog.absent, fleeting.backlog.absent) == (1, 0)
    assert fleeting.index.entry(fleeting.index.tail - 1).position == -1
    assert [list(q.index.live_columns(1, 0, 99)) == [] for q in (durable, fleeting)] == [0, 1]


def test_consumers_get_absent_messages_in_turn_when_they_have_come(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, *(b"%d" % n for n in range(5)), header=PERSISTENT)
    one, two = LoneConsumer("one"), LoneConsumer("two", no_ack=True)
    queue.add_consumer(one)
    queue.add_consumer(two)
    host.settle()
    assert (one.bodies, two.bodies) == ([b"0"], [])
    assert len(journal.fetches) == 1
    assert len(journal.fetches[0].sequences) == 4
    host.publish(queue, b"5", header=PERSISTENT)
    assert len(journal.fetches) == 1, "one at a time"
    host.answer_fetches()
    assert (one.bodies, two.bodies) == ([b"0", b"2", b"4"], [b"1", b"3", b"5"])
    assert (queue.unacked, queue.acked, queue.delivered) == (3, 3, 6)
    assert len(journal.live()) == 3
    assert queue.redelivered_count == 0


def test_reading_ahead_begins_when_half_the_window_is_left(
    host: QueueHost, journal: RecordingJournal
) -> None:
    host.window.size_bytes = 8 * (MESSAGE_OVERHEAD_BYTES + 1)
    queue = host.declare("q")
    host.publish(queue, *(b"%d" % (n % 10) for n in range(40)), header=PERSISTENT)
    assert len(queue.contents) == 8
    consumer = LoneConsumer(credit=4)
    queue.add_consumer(consumer)
    host.settle()
    assert journal.fetches == []
    consumer.credit = 1
    host.mark_dirty(queue)
    host.settle()
    (fetch,) = journal.fetches
    assert fetch.sequences[0] == queue.index.tail - 32
    assert len(queue.contents) == 3, "there is something to hand out while the disk reads"
    host.answer_fetches()
    assert queue.backlog.absent == 0


def test_one_fetch_is_bounded_in_messages_and_in_bytes(
    host: QueueHost, journal: RecordingJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "READ_AHEAD_MESSAGES", 3)
    monkeypatch.setattr(backlog, "READ_AHEAD_BYTES", 10)
    queue = host.declare("q")
    sizes = (1, 1, 1, 1, 1, 50, 4, 4, 4, 4)
    host.publish(queue, *(b"x" * size for size in sizes), header=PERSISTENT)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    asked = []
    while journal.fetches:
        asked.append(len(journal.fetches[0].sequences))
        queue.fetched(journal.answer().contents)
        host.settle()
    assert asked == [3, 2, 3, 1]
    assert [len(body) for body in consumer.bodies] == list(sizes)


def test_one_fetch_is_bounded_by_the_room_in_the_window(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, *(b"%d" % n for n in range(9)), header=PERSISTENT)
    host.window.size_bytes = host.window.largest_bytes = 3 * (MESSAGE_OVERHEAD_BYTES + 1)
    assert [got(queue), got(queue)] == [b"0", None]
    assert [len(fetch.sequences) for fetch in journal.fetches] == [3]


def test_a_consumer_that_is_cancelled_meanwhile_leaves_what_came_for_the_next(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", header=PERSISTENT)
    first, second = LoneConsumer("first"), LoneConsumer("second")
    queue.add_consumer(first)
    host.settle()
    queue.remove_consumer(first)
    host.answer_fetches()
    assert bodies_of(queue) == [b"b", b"c"]
    queue.add_consumer(second)
    host.settle()
    assert (first.bodies, second.bodies) == ([b"a"], [b"b", b"c"])


def test_get_waits_for_an_absent_head_and_is_told_once(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", header=PERSISTENT)
    assert got(queue) == b"a"
    answers: list[bytes | None] = []
    for _ in range(3):
        assert queue.get(None) is None
        assert queue.ready == 1
        queue.backlog.await_head(lambda: answers.append(got(queue)))
    host.publish(queue, b"c", header=TRANSIENT)
    assert answers == []
    host.answer_fetches()
    assert answers == [b"b", b"c", None]
    host.answer_fetches()
    assert len(answers) == 3


def test_who_waits_goes_on_waiting_for_the_next_when_what_was_read_is_damaged(
    host: QueueHost, journal: RecordingJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "READ_AHEAD_MESSAGES", 1)
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", header=PERSISTENT)
    assert got(queue) == b"a"
    assert got(queue) is None
    answers: list[bytes | None] = []
    queue.backlog.await_head(lambda: answers.append(got(queue)))
    journal.damaged[1] = None
    host.answer_fetches()
    assert (answers, queue.lost) == ([b"c"], 1)


def purge(queue: Queue) -> None:
    assert purge_now(queue) == 2


@pytest.mark.parametrize("lose", [purge, delete_now])
def test_who_waits_when_everything_goes_learns_it(
    host: QueueHost, journal: RecordingJournal, lose: Callable[[Queue], None]
) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", header=PERSISTENT)
    assert got(queue) == b"a"
    assert queue.get(None) is None
    told: list[bool] = []
    queue.backlog.await_head(lambda: told.append(queue.deleted))
    lose(queue)
    host.answer_fetches()
    host.settle()
    assert told == [queue.deleted]
    assert queue.ready == queue.backlog.absent == queue.backlog.absent_bytes == 0
    assert not queue.contents
    assert len(journal.live()) == (0 if queue.deleted else 1)


def test_an_answer_brings_in_only_what_is_still_there(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q", max_length=3)
    host.publish(queue, b"a", b"b", b"c", header=PERSISTENT)
    assert got(queue) == b"a"
    assert queue.get(None) is None
    host.publish(queue, b"d", b"e", header=PERSISTENT)
    assert queue.dropped == 1, "an absent head is dropped without reading it"
    host.answer_fetches()
    assert bodies_of(queue) == [b"c"]
    assert [got(queue), got(queue)] == [b"c", None]
    host.answer_fetches()
    assert [got(queue), got(queue), got(queue)] == [b"d", b"e", None]


def test_an_answer_over_the_end_of_a_chunk(
    host: QueueHost, journal: RecordingJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "READ_AHEAD_MESSAGES", 2 * CHUNK_ENTRIES)
    queue = host.declare("q")
    bodies = [b"%d" % number for number in range(CHUNK_ENTRIES + 10)]
    host.publish(queue, *bodies, header=PERSISTENT)
    host.window.size_bytes = 2 * CHUNK_ENTRIES * MESSAGE_OVERHEAD_BYTES
    assert [got(queue), got(queue)] == [b"0", None]
    assert [len(fetch.sequences) for fetch in journal.fetches] == [CHUNK_ENTRIES + 9]
    host.answer_fetches()
    assert bodies_of(queue) == bodies[1:]
    assert (queue.backlog.absent, queue.backlog.absent_bytes) == (0, 0)
    assert queue.header_bytes == len(bodies) * len(PERSISTENT)


def test_a_damaged_message_is_counted_and_never_delivered(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", header=PERSISTENT)
    journal.damaged[1] = None
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert consumer.bodies == [b"a", b"c"]
    assert (queue.lost, queue.ready, queue.backlog.absent) == (1, 0, 0)
    assert len(journal.live()) == 2, "it is acked, so that nothing waits for it"


def test_what_comes_back_stays_in_memory_if_it_fits(
    host: QueueHost, journal: RecordingJournal
) -> None:
    host.window.size_bytes = 2 * (MESSAGE_OVERHEAD_BYTES + 1)
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", b"d", header=PERSISTENT)
    leases = [lease for _ in range(2) if (lease := queue.get(None))]
    assert queue.get(None) is None
    host.answer_fetches()
    leases += [lease for _ in range(2) if (lease := queue.get(None))]
    queue.requeue(reversed(leases))
    assert bodies_of(queue) == [b"d", b"c"]
    assert queue.backlog.absent == 2
    assert queue.header_bytes == 2 * len(PERSISTENT)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == []
    host.answer_fetches()
    assert consumer.bodies == [b"a", b"b", b"c", b"d"]
    assert all(lease.redelivered for lease in consumer.leases)


def test_levels_are_read_from_the_highest_and_a_higher_one_overtakes(
    host: QueueHost, journal: RecordingJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "READ_AHEAD_MESSAGES", 2)
    queue = host.declare("q", max_priority=9)
    for body, priority in ((b"x", 0), (b"a", 1), (b"b", 1), (b"c", 1), (b"d", 5)):
        header = encode_header(1, Properties(delivery_mode=2, priority=priority))
        host.publish(queue, body, header=header)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == []
    header = encode_header(1, Properties(delivery_mode=2, priority=9))
    host.publish(queue, b"e", header=header)
    host.answer_fetches()
    assert consumer.bodies == [b"e", b"d", b"a", b"b", b"c", b"x"]


def test_expiry_without_an_exchange_reads_nothing(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", header=expiring(50))
    host.publish(queue, b"d", header=PERSISTENT)
    host.advance(60)
    assert (queue.expired, queue.ready, queue.backlog.absent) == (3, 1, 1)
    assert journal.fetches == []
    assert len(journal.live()) == 1


@pytest.mark.parametrize("length", [None, 1])
def test_dead_letters_are_read_before_they_are_sent(
    host: QueueHost, journal: RecordingJournal, length: int | None
) -> None:
    grave = host.declare("grave")
    limit: dict[str, Any] = {} if length is None else {"max_length": length}
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave", **limit)
    host.publish(queue, b"a", b"b", b"c", b"d", header=expiring(50))
    if length is None:
        host.advance(60)
    # With a limit, "a" gave way to "b", which is absent, as is what came after it.
    assert (queue.expired, queue.dropped) == ((1, 0) if length is None else (0, 1))
    deadline = host.deadlines.next_ms()
    assert deadline is None or deadline > host.moment.wall_ms, "the clock is not asked for it"
    host.answer_fetches()
    assert (queue.expired, queue.dropped) == ((4, 0) if length is None else (0, 3))
    assert queue.ready == (0 if length is None else 1)
    consumer = LoneConsumer()
    grave.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert consumer.bodies == [b"a", b"b", b"c", b"d"][: queue.expired + queue.dropped]
    assert len(journal.live()) == 4


def test_an_overdue_head_that_is_being_read_is_not_delivered(
    host: QueueHost, journal: RecordingJournal
) -> None:
    host.declare("grave")
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    host.publish(queue, b"a", header=PERSISTENT)
    host.publish(queue, b"b", header=expiring(50))
    host.publish(queue, b"c", header=PERSISTENT)
    assert got(queue) == b"a"
    host.advance(60)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == []
    host.answer_fetches()
    assert consumer.bodies == [b"c"]
    assert (queue.expired, host.queues["grave"].ready) == (1, 1)


def test_under_pressure_messages_go_to_pages_and_come_back(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q", durable=False)
    host.window.size_bytes = MESSAGE_OVERHEAD_BYTES
    host.publish(queue, *(b"%d" % n * 40_000 for n in range(5)), header=TRANSIENT)
    assert len(queue.contents) == 5
    freed = queue.backlog.shed(1 << 30, paging=True)
    assert bodies_of(queue) == [b"0" * 40_000, b"1" * 40_000], "the head stays"
    assert freed == 3 * (40_000 + len(TRANSIENT) + MESSAGE_OVERHEAD_BYTES)
    assert len(journal.pages) == queue.backlog.absent == 3
    consumer = LoneConsumer(credit=4)
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert [body[:1] for body in consumer.bodies] == [b"0", b"1", b"2", b"3"]
    assert not journal.pages, "what was read is memory's again"
    assert journal.records == []
    queue.requeue(consumer.leases)
    assert queue.backlog.absent == 0


def test_what_one_queue_pages_is_still_the_logs_for_another(
    host: QueueHost, journal: RecordingJournal
) -> None:
    """Until a page is written it gives back the message itself, which other queues have too."""
    durable, fleeting = host.declare("q"), host.declare("m", durable=False)
    host.window.size_bytes = 1 << 30
    host.publish((durable, fleeting), *(b"%d" % n * 90_000 for n in range(2)), header=PERSISTENT)
    host.window.size_bytes = 1
    assert fleeting.backlog.shed(1 << 30, paging=True)
    consumer = LoneConsumer()
    fleeting.add_consumer(consumer)
    host.settle()
    ((_, sequences, positions),) = journal.fetches
    fleeting.fetched(zip(sequences, map(journal.message, positions), strict=True))
    host.settle()
    assert len(consumer.leases) == 2
    for _ in range(2):
        lease = durable.get(None)
        assert lease is not None
        durable.ack(lease)
    assert journal.live() == [], "both acks are in the log"


@pytest.mark.parametrize("lose", [purge_now, delete_now, lambda queue: queue.env.advance(60)])
def test_a_page_goes_with_its_message(
    host: QueueHost, journal: RecordingJournal, lose: Callable[[Queue], None]
) -> None:
    queue = host.declare("q", message_ttl=50)
    host.publish(queue, *(b"x" * 90_000,) * 4, header=TRANSIENT)
    assert queue.backlog.shed(1 << 30, paging=True)
    assert len(journal.pages) == 3
    lose(queue)
    assert not journal.pages
    assert queue.ready == queue.backlog.absent == 0


def test_a_page_that_can_not_be_read_is_a_message_lost(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.publish(queue, *(b"x" * 90_000,) * 3, header=TRANSIENT)
    queue.backlog.shed(1 << 30, paging=True)
    journal.damaged |= dict.fromkeys(journal.pages)
    assert got(queue) is not None
    for _ in range(2):
        assert got(queue) is None
        host.answer_fetches()
    assert (queue.lost, queue.ready, journal.pages, journal.records) == (2, 0, {}, [])


@pytest.mark.parametrize("paging", [True, False])
def test_what_can_not_be_paged_stays_and_what_is_stored_leaves(paging: bool) -> None:
    journal = RecordingJournal(has_pages=False)
    host = QueueHost(journal)
    queue = host.declare("q")
    host.publish(queue, b"a" * 70_000, b"b", b"c", header=TRANSIENT)
    host.publish(queue, b"d", b"e", header=PERSISTENT)
    host.window.size_bytes = 1
    freed = queue.backlog.shed(1 << 30, paging=paging)
    assert freed == 2 * (1 + len(PERSISTENT) + MESSAGE_OVERHEAD_BYTES)
    assert [body[:1] for body in bodies_of(queue)] == [b"a", b"b", b"c"]
    assert queue.backlog.shed(1 << 30, paging=paging) == 0
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert [body[:1] for body in consumer.bodies] == [b"a", b"b", b"c", b"d", b"e"]


def test_single_messages_leave_and_are_kept_and_are_read(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    host.window.size_bytes = 1 << 20
    host.publish(queue, b"a", b"bb", header=PERSISTENT)
    host.publish(queue, b"C", header=TRANSIENT)
    first, second, third = queue.contents
    content = queue.contents[first]
    for sequence in (first, second, third, first):
        queue.backlog.let_go(sequence)
    assert bodies_of(queue) == [b"C"]
    assert (queue.backlog.absent, queue.backlog.absent_bytes) == (2, 3)
    assert queue.header_bytes == len(TRANSIENT)

    queue.backlog.keep(first, content)
    queue.backlog.keep(first, content)
    assert (queue.backlog.absent, queue.backlog.absent_bytes) == (1, 2)
    assert queue.header_bytes == len(TRANSIENT) + len(PERSISTENT)

    queue.backlog.fetch(array("Q", [third, first]))
    assert not queue.backlog.fetching
    queue.backlog.fetch(array("Q", [third, second]))
    assert journal.fetches[0].sequences == (second,)
    host.answer_fetches()
    assert sorted(bodies_of(queue)) == [b"C", b"a", b"bb"]
    assert queue.backlog.absent == 0


def test_nothing_is_kept_beyond_the_window(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", header=PERSISTENT)
    ((sequence, content),) = queue.contents.items()
    queue.backlog.let_go(sequence)
    host.window.size_bytes = 0
    queue.backlog.keep(sequence, content)
    assert bodies_of(queue) == []


def test_one_read_takes_no_more_than_it_may(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q")
    big = bytes(backlog.READ_AHEAD_BYTES)
    host.publish(queue, big, big, big, header=PERSISTENT)
    host.window.largest_bytes = 4 * backlog.READ_AHEAD_BYTES
    absent = [sequence for sequence, _, _ in queue.index.ready_from(0)][1:]
    queue.backlog.fetch(array("Q", absent))
    assert len(journal.fetches[0].sequences) == 1
