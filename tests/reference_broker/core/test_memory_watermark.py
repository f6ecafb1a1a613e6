"""Memory that gets short: windows shrink, messages leave for disk, and come back when asked for."""

from __future__ import annotations

import sys

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicAck, BasicConsume, QueueDeclare
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import Limits
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES, RESIDENT_BYTES
from reference_broker.core.memory_count import EMPTY_QUEUES_PER_UNIT, QUEUE_UNITS, MemoryCount
from reference_broker.core.memory_watermark import (
    COUNTS_PER_WATERMARK,
    PAGING_RATIO,
    SHORT_INTERVAL_S,
    WINDOWS_PER_WATERMARK,
    Relief,
    held_bytes,
    shrink_emptied,
)
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

WATERMARK = 4_000_000
PERSISTENT = Properties(delivery_mode=2)


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def lone(journal: RecordingJournal) -> LoneBroker:
    return LoneBroker(journal, Limits(memory_high_watermark_bytes=WATERMARK))


def declared(lone: LoneBroker, client: LoneClient, name: str) -> Queue:
    client.send(1, QueueDeclare(name, durable=True))
    lone.sync()
    client.received()
    return lone.broker.vhosts["/"].queues[name]


def publish(client: LoneClient, name: str, count: int, size: int, *, persistent: bool) -> None:
    properties = PERSISTENT if persistent else Properties()
    for number in range(count):
        client.publish(name, b"%05d" % number + b"x" * (size - 5), properties=properties)


def bodies(lone: LoneBroker, journal: RecordingJournal, client: LoneClient) -> list[int]:
    """The messages that a consumer without acks gets, while the disk answers."""
    client.send(1, BasicConsume("q", "t", no_ack=True))
    got: list[int] = []
    while True:
        fresh = [int(each.body[:5]) for each in client.received() if each.body]
        got += fresh
        if journal.fetches:
            lone.broker.fetched([journal.answer()], lone.now_s, lone.wall_ms)
        elif not fresh:
            return got
        client.resume_writing()


def test_ten_windows_of_persistent_messages_hold_one_in_memory(
    lone: LoneBroker, journal: RecordingJournal
) -> None:
    publisher, consumer = lone.client(), lone.client()
    queue = declared(lone, publisher, "q")
    total = WATERMARK // WINDOWS_PER_WATERMARK
    publish(publisher, "q", 1000, 5000, persistent=True)
    assert queue.ready_bytes == 5_000_000
    assert queue.backlog.resident_bytes <= total + WATERMARK // COUNTS_PER_WATERMARK
    assert held_bytes(lone.broker) < WATERMARK * PAGING_RATIO
    assert lone.broker.alarms.on == []
    assert bodies(lone, journal, consumer) == list(range(1000))
    lone.sync()
    publisher.disconnect()
    consumer.disconnect()
    assert held_bytes(lone.broker) < 5_000, "a queue without messages"


def test_what_a_slow_disk_has_not_written_yet_is_held(
    lone: LoneBroker, journal: RecordingJournal
) -> None:
    publisher = lone.client()
    declared(lone, publisher, "q")
    journal.tail += WATERMARK  # A log's positions are bytes.
    publish(publisher, "q", 40, 5000, persistent=True)
    assert lone.broker.alarms.on == [Alarm.MEMORY]
    lone.sync()
    lone.pass_time(1)
    assert lone.broker.alarms.on == []


def test_many_queues_share_what_one_may_have(lone: LoneBroker) -> None:
    client = lone.client()
    queues = [declared(lone, client, f"q{n}") for n in range(20)]
    assert lone.broker.window.size_bytes == RESIDENT_BYTES
    for _ in range(10):
        for queue in queues:
            publish(client, queue.name, 4, 5000, persistent=True)
    total = sum(queue.backlog.resident_bytes for queue in queues)
    last_one = 5_000 + MESSAGE_OVERHEAD_BYTES
    most = WATERMARK // WINDOWS_PER_WATERMARK + WATERMARK // COUNTS_PER_WATERMARK
    assert total <= most + last_one
    assert all(queue.contents for queue in queues)
    assert lone.broker.window.size_bytes < 40_000


def test_transient_messages_go_to_pages_before_publishers_are_blocked(
    lone: LoneBroker, journal: RecordingJournal
) -> None:
    publisher, consumer = lone.client(), lone.client()
    queue = declared(lone, publisher, "q")
    publish(publisher, "q", 300, 5000, persistent=False)
    assert not journal.pages, "memory isn't short yet"
    publish(publisher, "q", 1200, 5000, persistent=False)
    lone.pass_time(5)
    assert len(journal.pages) == queue.backlog.absent > 700
    assert held_bytes(lone.broker) < WATERMARK * PAGING_RATIO
    assert lone.broker.alarms.on == []
    assert bodies(lone, journal, consumer) == [*range(300), *range(1200)]
    assert not journal.pages
    publish(publisher, "q", 30, 5000, persistent=False)
    lone.pass_time(SHORT_INTERVAL_S)
    assert lone.broker.window.size_bytes == RESIDENT_BYTES, "nothing is short any more"


def test_memory_is_short_for_as_long_as_what_can_not_leave_is_held(
    lone: LoneBroker, journal: RecordingJournal
) -> None:
    publisher, holder = lone.client(), lone.client()
    queue = declared(lone, publisher, "q")
    holder.send(1, BasicConsume("q", "t"))
    for _ in range(400):
        publish(publisher, "q", 1, 5000, persistent=False)
        holder.received()
    assert queue.unacked == 400
    assert held_bytes(lone.broker) > WATERMARK * PAGING_RATIO
    assert lone.broker.window.size_bytes < RESIDENT_BYTES
    holder.send(1, BasicAck(0, True))
    lone.pass_time(2 * SHORT_INTERVAL_S)
    assert lone.broker.window.size_bytes == RESIDENT_BYTES


def test_without_pages_transient_messages_end_at_the_alarm() -> None:
    journal = RecordingJournal(has_pages=False)
    lone = LoneBroker(journal, Limits(memory_high_watermark_bytes=WATERMARK))
    publisher, consumer = lone.client(), lone.client()
    queue = declared(lone, publisher, "q")
    publish(publisher, "q", 800, 5000, persistent=False)
    assert lone.broker.alarms.on == [Alarm.MEMORY]
    taken = len(queue.contents)
    assert 700 < taken < 800
    assert bodies(lone, journal, consumer) == list(range(taken))
    lone.pass_time(1)
    assert lone.broker.alarms.on == []
    assert bodies(lone, journal, consumer) == list(range(taken, 800)), "they waited"


def test_a_frame_that_is_not_whole_is_counted(lone: LoneBroker) -> None:
    client = lone.client()
    before = held_bytes(lone.broker)
    client.send_bytes(b"\x01\x00\x01\x00\x01\x00\x00" + b"x" * 60_000)
    assert held_bytes(lone.broker) - before == 60_007
    client.disconnect()
    assert held_bytes(lone.broker) < before


def test_a_queue_that_was_emptied_gives_its_room_back(lone: LoneBroker) -> None:
    client = lone.client()
    full, empty = declared(lone, client, "full"), declared(lone, client, "q")
    for name in ("full", "q"):
        publish(client, name, 1000, 10, persistent=False)
    client.send(1, BasicConsume("q", "t", no_ack=True))
    assert sys.getsizeof(empty.contents) == sys.getsizeof(full.contents)
    shrink_emptied(lone.broker)
    assert sys.getsizeof(empty.contents) == sys.getsizeof({})
    assert len(full.contents) == 1000


def test_a_count_of_many_queues_and_connections_is_done_in_portions(lone: LoneBroker) -> None:
    clients = [lone.client() for _ in range(60)]
    vhost = lone.broker.vhosts["/"]
    for number in range(300):
        vhost.declare_queue(f"q{number}")
    for number in range(100):
        clients[0].publish(f"q{number}", b"x" * 1_000)
    whole = held_bytes(lone.broker)
    count = MemoryCount(lone.broker)
    lone.broker.budget.units = lone.broker.budget.left = 20
    portions = 0
    while not count.advance():
        lone.broker.budget.refill()
        portions += 1
    assert count.held_bytes == whole
    queues = 100 * QUEUE_UNITS + 200 // EMPTY_QUEUES_PER_UNIT
    connections = 2 * 60
    assert (queues + connections) // 20 - 3 < portions < (queues + connections) // 20 + 3


def test_an_alarm_comes_though_a_count_takes_several_turns() -> None:
    journal = RecordingJournal(has_pages=False)
    lone = LoneBroker(journal, Limits(memory_high_watermark_bytes=WATERMARK))
    clients = [lone.client() for _ in range(60)]
    declared(lone, clients[0], "q")
    budget = lone.broker.budget
    budget.units = budget.left = 20
    publish(clients[0], "q", 1, WATERMARK + 1, persistent=False)
    assert lone.broker.alarms.on == [], "a part of the connections has not been looked at"
    turns = 0
    while lone.broker.alarms.on == []:
        turns += 1
        budget.refill()
        lone.pass_time(0.01)
    assert lone.broker.alarms.on == [Alarm.MEMORY]
    assert 3 <= turns <= 10


def test_messages_leave_memory_in_portions(lone: LoneBroker) -> None:
    client = lone.client()
    queues = [declared(lone, client, f"q{number}") for number in range(3)]
    lone.broker.window.size_bytes = 10_000_000
    for queue in queues:
        publish(client, queue.name, 100, 1_000, persistent=True)
    count = MemoryCount(lone.broker)
    count.whole()
    lone.broker.window.size_bytes = 10_000
    relief = Relief(lone.broker, count, count.held_bytes, 1 << 30, paging=False)
    lone.broker.budget.units = lone.broker.budget.left = 7
    portions = 0
    while not relief.advance():
        lone.broker.budget.refill()
        portions += 1
    left = [len(queue.contents) for queue in queues]
    assert portions >= (300 - sum(left)) // 7
    assert relief.freed_bytes > 100 * 1_000


def test_what_others_hold_counts(lone: LoneBroker) -> None:
    client = lone.client()
    lone.broker.memory.beside["statistics"] = lambda: WATERMARK + 1
    publish(client, "q", 1, WATERMARK // COUNTS_PER_WATERMARK, persistent=False)
    assert lone.broker.alarms.on == [Alarm.MEMORY]
    lone.broker.memory.beside["statistics"] = lambda: 0
    lone.pass_time(1)
    assert lone.broker.alarms.on == []
