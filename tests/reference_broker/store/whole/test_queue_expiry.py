"""``x-expires`` over a restart: a queue that nobody uses is given its whole time anew, as with
RabbitMQ (rabbitmq.com/docs/ttl, on queues that are durable)."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import Crash
from reference_broker.store import Log, open_log
from reference_broker.store.start.restore import restore, resume

EXPIRES_MS = 10_000
NOW_MS = 1_700_000_000_000


class Life:
    """A broker from its start on ``disk`` at ``now_ms``."""

    def __init__(self, disk: SimulatedDisk, now_ms: int) -> None:
        self._disk = disk
        self._began_ms = now_ms
        self._log: Log
        self._log, recovered = open_log(disk)
        self.broker = Broker(self._log, UserStore(), version="1")
        self.broker.begin(0.0, now_ms)
        restore(self.broker, recovered)
        resume(self.broker, self._log, disk)
        self.write()

    @property
    def queues(self) -> set[str]:
        return set(self.broker.vhosts["/"].queues)

    def declare(self, name: str) -> None:
        vhost = self.broker.vhosts["/"]
        queue = vhost.declare_queue(name, durable=True, arguments={"x-expires": EXPIRES_MS})
        header = encode_header(1, Properties(delivery_mode=2))
        content = Content(b"\x00" + bytes([len(name)]) + name.encode(), header, b"m")
        assert enqueue([queue], content, facts_of(header), vhost)
        self.broker.finish()
        self.write()

    def at(self, now_ms: int) -> None:
        self.broker.tick((now_ms - self._began_ms) / 1_000, now_ms)
        self.write()

    def write(self) -> None:
        while (batch := self._log.take_batch()) is not None:
            for operation in batch.operations:
                self._disk.perform(operation)
            self._log.batch_synced(batch)

    def stop(self) -> None:
        self._log.close()
        self.write()


@pytest.mark.parametrize("stopped", [False, True])
def test_a_start_gives_an_unused_queue_its_time_anew(stopped: bool) -> None:
    disk = SimulatedDisk()
    life = Life(disk, NOW_MS)
    life.declare("q")
    life.at(NOW_MS + EXPIRES_MS - 1)
    assert life.queues == {"q"}
    if stopped:
        life.stop()
    disk.crash(Crash.DROP)

    started_ms = NOW_MS + 2 * EXPIRES_MS
    life = Life(disk, started_ms)
    assert life.queues == {"q"}
    assert life.broker.vhosts["/"].queues["q"].ready == 1
    life.at(started_ms + EXPIRES_MS - 1)
    assert life.queues == {"q"}
    life.at(started_ms + EXPIRES_MS + 1)
    assert life.queues == set()
    disk.crash(Crash.DROP)
    assert Life(disk, started_ms + EXPIRES_MS + 2).queues == set(), "its end was logged"


def test_a_queue_that_is_used_again_after_a_start_stays() -> None:
    disk = SimulatedDisk()
    life = Life(disk, NOW_MS)
    life.declare("q")
    disk.crash(Crash.DROP)
    life = Life(disk, NOW_MS + 1)
    life.at(NOW_MS + EXPIRES_MS // 2)
    arguments = {"x-expires": EXPIRES_MS}
    life.broker.vhosts["/"].declare_queue("q", durable=True, arguments=arguments)
    life.broker.finish()
    life.at(NOW_MS + EXPIRES_MS + 100)
    assert life.queues == {"q"}
    life.at(NOW_MS + 2 * EXPIRES_MS)
    assert life.queues == set()
