"""Memory that gets short: windows shrink, messages leave for disk, and come back when asked for."""

from __future__ import annotations

import sys

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicAck, BasicConsume, QueueDeclare
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import Limits
from reference_broker.core.index.memory_window import RESIDENT_BYTES
from reference_broker.core.memory_watermark import (
    COUNTS_PER_WATERMARK,
    PAGING_RATIO,
    SHORT_INTERVAL_S,
    WINDOWS_PER_WATERMARK,
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
    assert held_bytes(lone.broker) == 0


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
    assert total <= WATERMARK // WINDOWS_PER_WATERMARK + WATERMARK // COUNTS_PER_WATERMARK
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
    client.send_bytes(b"\x01\x00\x01\x00\x01\x00\x00" + b"x" * 60_000)
    assert held_bytes(lone.broker) == 60_007
    client.disconnect()
    assert held_bytes(lone.broker) == 0


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
