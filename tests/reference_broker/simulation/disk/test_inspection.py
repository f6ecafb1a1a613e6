from __future__ import annotations

from random import Random

import pytest

from mqkit.wire.methods import BasicAck, BasicConsume, BasicGet, QueueDeclare
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.simulation.disk import autopsy, inspection
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.events.events import Copy, DeathNote, Message, Start
from reference_broker.simulation.events.marking import properties_of
from reference_broker.store import Log, open_log
from reference_broker.store.start.restore import restore, resume
from reference_broker.testing.lone_broker import LoneBroker

SEGMENT_BYTES = 4_096
SIZE = 300


class Rig:
    """A broker on a log of small segments, whose batches are performed when it is asked to."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk(Random(0))
        self.open()

    def open(self) -> None:
        self.log: Log
        self.log, self.recovered = open_log(self.disk, segment_bytes=SEGMENT_BYTES)
        self.lone = LoneBroker(self.log)
        self.broker = self.lone.broker
        self.broker.begin(self.lone.now_s, self.lone.wall_ms)
        self.found = inspection.found_in(self.log, self.recovered, self.disk)
        restore(self.broker, self.recovered)
        resume(self.broker, self.log, self.disk)
        self.client = self.lone.client()

    def sync(self) -> None:
        self.log.awaited = self.log.tail  # acks, too
        while (batch := self.log.take_batch()) is not None:
            for operation in batch.operations:
                self.disk.perform(operation)
            self.log.batch_synced(batch)
        self.broker.synced(self.log.synced, self.lone.now_s, self.lone.wall_ms)
        self.client.received()

    def declare(self, name: str, **arguments: object) -> None:
        table = {"x-" + key.replace("_", "-"): value for key, value in arguments.items()}
        self.client.send(1, QueueDeclare(name, durable=True, arguments=table))
        self.sync()

    def publish(self, queue: str, *numbers: int, priority: int | None = None) -> None:
        for number in numbers:
            message = Message(number, 1, (queue,), True, 0, size=SIZE, priority=priority)
            self.client.publish(queue, message.body, properties=properties_of(message))

    def rebuilt(self) -> object:
        """From footers and from records alone, which is the same."""
        footers, records = (
            inspection.rebuilt_index(
                self.broker, inspection.rebuilt(self.disk, trust_footers=trusted)
            )
            for trusted in (True, False)
        )
        assert footers == records
        return footers

    def start(self) -> Start:
        return inspection.start_of(self.broker, self.found, 1, 2)


def test_the_index_is_what_a_rebuild_finds_once_all_is_synced() -> None:
    rig = Rig()
    rig.declare("plain", message_ttl=60_000)
    rig.declare("levels", max_priority=5)
    rig.publish("plain", 1, 2, 3)
    rig.publish("levels", 4, priority=1)
    rig.publish("levels", 5, priority=9)
    assert not inspection.is_synced(rig.broker)
    assert inspection.index_of(rig.broker) != rig.rebuilt()
    rig.sync()
    assert inspection.is_synced(rig.broker)
    assert inspection.index_of(rig.broker) == rig.rebuilt()
    index = {
        key.partition(" ")[2]: entries for key, entries in inspection.index_of(rig.broker).items()
    }
    assert [each.sequence >> LEVEL_SHIFT for each in index["levels"]] == [1, 5]
    assert {each.expires_at_ms - rig.lone.wall_ms for each in index["plain"]} == {60_000}


def test_what_is_handed_out_is_in_the_index_and_not_ready() -> None:
    rig = Rig()
    rig.declare("q")
    rig.publish("q", 1, 2)
    rig.client.send(1, BasicConsume(queue="q"))
    rig.publish("q", 3)
    rig.sync()
    (queue,) = inspection.queues_of(rig.broker)
    assert inspection.ready_numbers(queue, rig.log, rig.disk) == []
    assert not inspection.is_empty(rig.broker)
    assert inspection.index_of(rig.broker) == rig.rebuilt()
    rig.client.send(1, BasicAck(3, multiple=True))
    rig.sync()
    assert inspection.is_empty(rig.broker)
    assert inspection.index_of(rig.broker) == rig.rebuilt() == {}


def test_a_message_is_overdue_when_it_is_the_head() -> None:
    rig = Rig()
    rig.declare("q", max_priority=5)
    rig.publish("q", 1, priority=5)
    rig.declare("short", message_ttl=50)
    rig.publish("short", 2)
    behind = properties_of(Message(3, 1, ("q",), True, 0, expiration_ms=50))
    rig.client.publish("q", b"", properties=behind)
    rig.sync()
    queues = {queue.name: queue for queue in inspection.queues_of(rig.broker)}
    due_ms = rig.lone.wall_ms + 50
    (sequence,) = (each for each, _, _ in queues["short"].index.ready_from(0))
    head = inspection.Head("short", queues["short"].id, sequence)
    assert inspection.overdue_heads_of(rig.broker, due_ms) == {}
    assert inspection.overdue_heads_of(rig.broker, due_ms + 7) == {head: 7}
    assert inspection.overdue_of(rig.broker, due_ms + 7) == {}
    rig.client.send(1, BasicGet("q", no_ack=True))
    (now_head,) = inspection.overdue_heads_of(rig.broker, due_ms + 7).keys() - {head}
    assert now_head.queue == "q"


def test_what_a_start_finds_has_its_number_and_its_deaths() -> None:
    rig = Rig()
    rig.declare("dead")
    rig.declare("q", dead_letter_exchange="", dead_letter_routing_key="dead", max_length=1)
    rig.publish("q", 1, 2)
    rig.sync()
    assert inspection.losses_of(rig.broker)["q"]["maxlen"] == 1
    rig.open()
    assert not rig.start().damaged
    assert rig.start().queues == {
        "dead": [Copy(1, (DeathNote("q", "maxlen", 1),))],
        "q": [Copy(2)],
    }


def test_what_is_not_in_memory_is_read() -> None:
    rig = Rig()
    rig.declare("q")
    rig.publish("q", 1, 2)
    rig.sync()
    rig.open()
    (queue,) = inspection.queues_of(rig.broker)
    assert not queue.contents
    assert inspection.ready_numbers(queue, rig.log, rig.disk) == [1, 2]


def test_a_rotten_message_is_there_until_somebody_reads_it() -> None:
    rig = Rig()
    rig.declare("q")
    for number in range(1, 30):
        rig.publish("q", number)
        rig.sync()
    file = autopsy.sealed_files(rig.disk)[0]
    byte = rig.disk.read(file).index(b"%010d." % 3)
    rig.disk.flip(file, 8 * byte)
    rig.open()
    assert not rig.start().damaged, "the footer doesn't know"
    assert [copy.number for copy in rig.start().queues["q"]] == [*range(1, 30)]
    (queue,) = inspection.queues_of(rig.broker)
    assert 3 not in inspection.ready_numbers(queue, rig.log, rig.disk)


def test_without_its_definition_a_queue_is_lost_and_counted() -> None:
    rig = Rig()
    rig.declare("q")
    for number in range(1, 12):
        rig.publish("q", number)
        rig.sync()
    file = autopsy.sealed_files(rig.disk)[0]
    size_bytes = rig.disk.size(file)
    byte = max(at for at in range(size_bytes) if autopsy.record_at(rig.disk, file, at).defines)
    rig.disk.flip(file, 8 * byte)
    rig.open()
    start = rig.start()
    assert (start.damaged, start.queues) == (True, {})
    assert start.orphans >= 11


@pytest.mark.parametrize("end", ["nothing", "a crash"])
def test_looking_changes_nothing(end: str) -> None:
    rig = Rig()
    rig.declare("q")
    rig.publish("q", 1)
    rig.sync()
    before = rig.disk.operations
    rig.rebuilt()
    if end == "a crash":
        rig.disk.crash()
    assert rig.disk.operations == before
    assert len(rig.disk.list_files()) == (1 if end == "a crash" else 2), "the spare is not durable"
