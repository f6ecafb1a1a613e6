"""The disk use of a log."""

from __future__ import annotations

from random import Random

from mqkit.wire import PERSISTENT, Properties
from mqkit.wire.methods import (
    BasicAck,
    BasicGet,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
)
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.disk_use import disk_use_of
from reference_broker.simulation.events.events import DiskUse
from reference_broker.store import open_log
from reference_broker.store.disk.ports import CreateFile
from reference_broker.testing.lone_broker import LoneBroker

SEGMENT_BYTES = 4_096
SIZE = 300
QUEUES = ("a", "b", "c")


class Rig:
    """A broker on a log of small segments, with three queues that are bound to one exchange."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk(Random(0))
        self.log, _ = open_log(self.disk, segment_bytes=SEGMENT_BYTES)
        self.lone = LoneBroker(self.log)
        self.client = self.lone.client()
        declarations: list[Method] = [ExchangeDeclare("all", "fanout", durable=True)]
        declarations += [QueueDeclare(queue, durable=True) for queue in QUEUES]
        for declaration in (*declarations, *(QueueBind(queue, "all") for queue in QUEUES)):
            self.client.send(1, declaration)
            self.sync()

    def publish(self) -> None:
        properties = Properties(delivery_mode=PERSISTENT)
        self.client.publish("", bytes(SIZE), exchange="all", properties=properties)

    def ack(self, tag: int, queue: str) -> None:
        self.client.send(1, BasicGet(queue), BasicAck(tag, False))

    def sync(self) -> None:
        self.log.awaited = self.log.tail  # acks, too
        while (batch := self.log.take_batch()) is not None:
            for operation in batch.operations:
                self.disk.perform(operation)
            self.log.batch_synced(batch)
        self.lone.broker.synced(self.log.synced, self.lone.now_s, self.lone.wall_ms)

    def use(self) -> DiskUse:
        self.sync()
        return disk_use_of(self.log, self.lone.broker, self.disk)


def test_files_and_messages_are_counted() -> None:
    rig = Rig()
    rig.publish()
    use = rig.use()
    assert use.size_bytes == 2 * SEGMENT_BYTES, "the one in use, and the spare one"
    assert (use.entries, use.files, use.queues, use.strangers, use.rotten) == (3, 1, 3, (), False)
    assert SIZE < use.live_bytes < 2 * SIZE
    rig.disk.perform(CreateFile("stranger", 1))
    assert rig.use().strangers == ("stranger",)


def test_a_message_counts_whole_as_long_as_one_queue_has_it() -> None:
    rig = Rig()
    rig.publish()
    for tag, queue in enumerate(QUEUES[:2], 1):
        rig.ack(tag, queue)
        use = rig.use()
        assert use.entries == 3 - tag
        assert use.live_bytes > SIZE
    rig.ack(3, QUEUES[2])
    assert rig.use().live_bytes == 0
