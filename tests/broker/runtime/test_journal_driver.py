"""The drivers: what a stop leaves in the folder is in the broker after the next start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicGet, QueueDeclare, QueueDelete
from reference_broker.core.broker import Broker
from reference_broker.core.queue import Queue
from reference_broker.errors import DiskFailed
from reference_broker.runtime.journal_driver import DiskDriver, MemoryDriver
from reference_broker.simulation.lone_broker import LoneBroker

PERSISTENT = Properties(delivery_mode=2)


class Events:
    """Passes what the disk says on to a broker."""

    def __init__(self, lone: LoneBroker) -> None:
        self.lone = lone
        self.synced_once = asyncio.Event()

    def synced(self, position: int) -> None:
        self.lone.broker.synced(position, self.lone.now_s, self.lone.wall_ms)
        self.synced_once.set()

    def disk_full(self) -> None:
        raise AssertionError

    def disk_failed(self, error: DiskFailed) -> None:
        raise AssertionError(error)


def queues_of(broker: Broker) -> Mapping[str, Queue]:
    return broker.vhosts["/"].queues


@pytest.mark.anyio
async def test_a_folder_gives_back_what_it_was_given(tmp_path: Path) -> None:
    driver = DiskDriver(tmp_path)
    lone = LoneBroker(driver.journal)
    driver.restore_into(lone.broker)
    events = Events(lone)
    driver.start(asyncio.get_running_loop(), events)
    client = lone.client()
    client.send(1, QueueDeclare("kept", durable=True, nowait=True))
    client.send(1, QueueDeclare("deleted", durable=True, nowait=True))
    client.select_confirms()
    for number in range(3):
        client.publish("kept", b"%d" % number, properties=PERSISTENT)
    client.publish("deleted", properties=PERSISTENT)
    client.publish("kept", b"transient")
    client.send(1, QueueDelete("deleted", nowait=True), BasicGet("kept", no_ack=True))
    driver.kick()
    await asyncio.wait_for(events.synced_once.wait(), 10)
    client.disconnect()
    driver.close()
    driver.close()

    second = DiskDriver(tmp_path)
    again = LoneBroker(second.journal)
    second.restore_into(again.broker)
    assert list(queues_of(again.broker)) == ["kept"]
    client = again.client()
    client.send(1, *[BasicGet("kept", no_ack=True)] * 3)
    assert [received.body for received in client.received()] == [b"1", b"2", b""]
    second.close()


@pytest.mark.anyio
async def test_a_driver_that_was_never_started_lets_the_folder_go(tmp_path: Path) -> None:
    DiskDriver(tmp_path).close()
    DiskDriver(tmp_path).close()


@pytest.mark.anyio
async def test_memory_has_nothing_to_restore() -> None:
    driver = MemoryDriver()
    lone = LoneBroker(driver.journal)
    driver.restore_into(lone.broker)
    driver.start(asyncio.get_running_loop(), Events(lone))
    driver.kick()
    driver.close()
    assert queues_of(lone.broker) == {}
