"""Returns that wait: when they are ready again, their memory, their due times in the journal."""

from __future__ import annotations

import struct

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.queue.delayed_returns import restore_delays
from reference_broker.core.queue.queue import Queue
from reference_broker.errors import Corrupt
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties())


@pytest.fixture
def host() -> QueueHost:
    return QueueHost()


def delaying(host: QueueHost, delay_ms: int = 1_000) -> Queue:
    return host.declare("q", requeue_position="back", requeue_delay=delay_ms)


def give_back(queue: Queue) -> None:
    lease = queue.get(None)
    assert lease is not None
    queue.requeue([lease])


@pytest.mark.parametrize("header", [HEADER, TRANSIENT])
def test_not_before_its_time(host: QueueHost, header: bytes) -> None:
    queue = delaying(host)
    host.publish(queue, b"1", header=header)
    give_back(queue)
    host.publish(queue, b"2", header=header)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == [b"2"]
    assert (queue.ready, queue.unacked) == (0, 2)
    host.advance(990)
    assert consumer.bodies == [b"2"]
    host.advance(20)
    host.answer_fetches()
    assert consumer.bodies == [b"2", b"1"]
    assert consumer.leases[1].redelivered
    assert queue.unacked == 2


def test_each_at_its_own_time(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"1", b"2", b"3", header=TRANSIENT)
    for _ in range(3):
        give_back(queue)
        host.advance(100)
    assert queue.ready == 0
    host.advance(710)
    assert queue.ready == 1
    host.advance(100)
    assert queue.ready == 2
    host.advance(100)
    assert queue.ready == 3
    assert queue.unacked == 0


def test_a_stored_message_leaves_memory_meanwhile(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"x" * 5_000, header=encode_header(5_000, Properties(delivery_mode=2)))
    before = queue.memory_bytes
    give_back(queue)
    assert queue.memory_bytes < before - 5_000
    assert queue.unacked_bytes == 5_000
    host.advance(1_010)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert len(consumer.bodies[0]) == 5_000
    queue.ack(consumer.leases[0])
    assert queue.memory_bytes == 0


def test_a_deletion_takes_them_a_purge_does_not(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"1", b"2", header=HEADER)
    give_back(queue)
    assert purge_now(queue) == 1
    assert queue.unacked == 1
    delete_now(queue)
    assert (queue.unacked, queue.memory_bytes) == (0, 0)
    assert isinstance(host.journal, RecordingJournal)
    assert host.journal.live() == []
    host.advance(10_000)


def test_its_own_expiry_is_looked_at_when_it_is_ready(host: QueueHost) -> None:
    queue = delaying(host, 1_000)
    short = encode_header(1, Properties(delivery_mode=2, expiration="500"))
    host.publish(queue, b"1", header=short)
    give_back(queue)
    host.advance(1_010)
    assert (queue.ready, queue.expired) == (0, 1)


def test_a_footer_gets_what_waits_as_redelivered(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"waits", b"is handed out", b"is ready", header=HEADER)
    give_back(queue)
    assert queue.get(None) is not None
    ((columns,),) = [list(index.live_columns(queue.id, 0, 1 << 62)) for index in queue.indexes()]
    assert columns.states == bytes([EntryState.TAKEN, EntryState.READY, EntryState.TAKEN])
    states = queue.delayed.stored.mark(columns).states
    assert states == bytes([EntryState.TAKEN, EntryState.READY, EntryState.REDELIVERED])


def give_back_together(queue: Queue, count: int) -> None:
    leases = [lease for _ in range(count) if (lease := queue.get(None)) is not None]
    assert len(leases) == count
    queue.requeue(leases)


def written(host: QueueHost) -> list[tuple[str, bytes | None]]:
    assert isinstance(host.journal, RecordingJournal)
    records = [record for record in host.journal.records if record[0] == "define"]
    return [(key, value) for _, key, value in records]


def definitions(host: QueueHost) -> dict[str, bytes]:
    kept: dict[str, bytes] = {}
    for key, value in written(host):
        if value is None:
            del kept[key]
        else:
            kept[key] = value
    return kept


def test_what_comes_back_together_is_defined_together(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, *[b"x"] * 1_000, header=HEADER)
    give_back_together(queue, 1_000)
    assert len(written(host)) <= 1_000 // 64 + 2
    kept = definitions(host)
    assert {key.rpartition("/")[0] for key in kept} == {f"~delays/%2F/{queue.id}"}
    host.advance(1_010)
    assert queue.ready == 1_000
    assert definitions(host) == {}


def test_a_block_stays_until_nothing_of_it_waits(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, *[b"x"] * 3, header=HEADER)
    for _ in range(3):
        give_back(queue)
        host.advance(100)
    assert len(written(host)) == 3
    host.advance(810)
    assert (queue.ready, len(written(host))) == (2, 3), "a time that is over harms nobody"
    host.advance(100)
    assert (queue.ready, definitions(host)) == (3, {})


def test_nothing_is_written_of_what_no_restart_keeps(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"x", header=TRANSIENT)
    give_back(queue)
    gone = host.declare("r", durable=False, requeue_position="back", requeue_delay=1_000)
    host.publish(gone, b"x", header=HEADER)
    give_back(gone)
    assert (queue.unacked, gone.unacked) == (1, 1)
    host.advance(1_010)
    assert (queue.ready, gone.ready, written(host)) == (1, 1, [])


def test_a_deleted_queue_leaves_none(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"a", b"b", header=HEADER)
    give_back_together(queue, 2)
    assert definitions(host)
    delete_now(queue)
    assert definitions(host) == {}


def test_those_of_a_queue_that_is_gone_are_forgotten(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"x", header=HEADER)
    give_back(queue)
    kept = definitions(host)
    (key,) = kept
    restore_delays(kept, "other", {}, host.journal)
    assert definitions(host) == kept
    restore_delays(kept, "/", {}, host.journal)
    assert written(host)[-1] == (key, None)


def test_those_of_messages_that_are_gone_or_due_are_forgotten(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"x", header=HEADER)
    (sequence,) = [sequence for sequence, _, _ in queue.index.ready_from(0)]
    now_ms = host.moment.wall_ms
    kept = {
        f"~delays/%2F/{queue.id}/{place >> 6}": struct.pack(">BBQ", 1, place & 63, due_ms)
        for place, due_ms in ((sequence, now_ms), (sequence + 1_000, now_ms + 5))
    }
    for key, value in kept.items():
        host.journal.define(key, value)
    restore_delays(kept, "/", {queue.id: queue}, host.journal)
    queue.delayed.restored()
    assert (queue.ready, queue.unacked, definitions(host)) == (1, 0, {})


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("x", b"\x01" + bytes(9)),
        ("5/6", b"\x01" + bytes(9)),
        ("5", b"\x01" + bytes(8)),
        ("5", b"\x02" + bytes(9)),
        ("5", b""),
    ],
)
def test_what_can_not_be_read_is_said(host: QueueHost, number: str, value: bytes) -> None:
    queue = delaying(host)
    with pytest.raises(Corrupt, match="requeue delay"):
        restore_delays(
            {f"~delays/%2F/{queue.id}/{number}": value}, "/", {queue.id: queue}, host.journal
        )
