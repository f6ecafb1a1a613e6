"""The drivers: what a stop leaves in the folder is in the broker after the next start, and what the
threads of the store have to say comes to the server."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicGet, QueueDeclare, QueueDelete
from reference_broker.core.alarms import Alarm
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import Fetched
from reference_broker.core.queue.queue import Queue
from reference_broker.errors import DiskFailed
from reference_broker.http.request.host import StoreDamage
from reference_broker.runtime.disk import journal_driver
from reference_broker.runtime.disk.journal_driver import DiskDriver, MemoryDriver
from reference_broker.runtime.disk.rewriter import Looks, Rewriter
from reference_broker.store.format.segment import SEGMENT_BYTES, SPARE_FILE
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.lone_queue import purge_now

pytestmark = pytest.mark.anyio

PERSISTENT = Properties(delivery_mode=2)
WAIT_S = 20


class Node:
    """A broker on a folder, and the server's part between it and its driver."""

    def __init__(self, directory: Path, disk_free_limit_bytes: int = 0) -> None:
        self.directory = directory
        self.driver = DiskDriver(directory, disk_free_limit_bytes)
        self.lone = LoneBroker(self.driver.journal)
        self.driver.restore_into(self.lone.broker)
        self.failures: list[DiskFailed] = []
        self.driver.start(asyncio.get_running_loop(), self)

    @property
    def queues(self) -> Mapping[str, Queue]:
        return self.lone.broker.vhosts["/"].queues

    @property
    def alarms(self) -> list[Alarm]:
        return self.lone.broker.alarms.on

    def synced(self, position: int) -> None:
        self.lone.broker.synced(position, self.lone.now_s, self.lone.wall_ms)
        self.driver.kick()

    def fetched(self, answers: list[Fetched]) -> None:
        self.lone.broker.fetched(answers, self.lone.now_s, self.lone.wall_ms)
        self.driver.kick()

    def disk_full(self) -> None:
        self.lone.broker.disk_full(self.lone.now_s, self.lone.wall_ms)

    def disk_low(self) -> None:
        self.lone.broker.disk_low(self.lone.now_s, self.lone.wall_ms)

    def disk_recovered(self) -> None:
        self.lone.broker.disk_recovered(self.lone.now_s, self.lone.wall_ms)

    def disk_failed(self, error: DiskFailed) -> None:
        self.failures.append(error)

    async def until(self, holds: Callable[[], object]) -> None:
        """Kick, and give threads and loop their turns, until ``holds()``."""
        async with asyncio.timeout(WAIT_S):
            while not holds():
                self.driver.kick()
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        assert self.failures == []

    async def settled(self) -> None:
        journal = self.driver.journal
        await self.until(lambda: journal.synced == journal.tail)

    async def get(self, client: LoneClient, queue: str) -> bytes:
        client.send(1, BasicGet(queue, no_ack=True))
        bodies: list[bytes] = []

        def answered() -> bool:
            bodies.extend(received.body for received in client.received())
            return bool(bodies)

        await self.until(answered)
        return bodies[0]

    def size_bytes(self) -> int:
        """Of the segments. The disk thread may delete one meanwhile."""
        total = 0
        for file in self.directory.glob("*.segment"):
            with suppress(FileNotFoundError):
                total += file.stat().st_size
        return total


async def test_a_folder_gives_back_what_it_was_given(tmp_path: Path) -> None:
    node = Node(tmp_path)
    client = node.lone.client()
    client.send(1, QueueDeclare("kept", durable=True, nowait=True))
    client.send(1, QueueDeclare("deleted", durable=True, nowait=True))
    client.select_confirms()
    for number in range(3):
        client.publish("kept", b"%d" % number, properties=PERSISTENT)
    client.publish("deleted", properties=PERSISTENT)
    client.publish("kept", b"transient")
    client.send(1, QueueDelete("deleted", nowait=True), BasicGet("kept", no_ack=True))
    await node.settled()
    client.disconnect()
    node.driver.close()
    node.driver.close()

    again = Node(tmp_path)
    assert list(again.queues) == ["kept"]
    client = again.lone.client()
    assert [await again.get(client, "kept") for _ in range(2)] == [b"1", b"2"]
    assert again.queues["kept"].ready == 0
    assert again.driver.damage == StoreDamage()
    assert again.driver.syncs > 0
    again.driver.close()


async def test_a_driver_that_was_never_started_lets_the_folder_go(tmp_path: Path) -> None:
    DiskDriver(tmp_path).close()
    DiskDriver(tmp_path).close()


async def test_a_start_deletes_the_pages_of_an_earlier_process(tmp_path: Path) -> None:
    old = tmp_path / "pages-00000001.page"
    old.write_bytes(b"old")
    driver = DiskDriver(tmp_path)
    assert old.name not in os.listdir(tmp_path)
    driver.close()


async def test_what_is_mostly_acked_gives_its_room_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = partial(Rewriter, looks=Looks(interval_s=0.0))
    monkeypatch.setattr(journal_driver, "Rewriter", at_once)
    node = Node(tmp_path)
    client = node.lone.client()
    for name in ("stuck", "busy"):
        client.send(1, QueueDeclare(name, durable=True, nowait=True))
    for _ in range(5):
        client.publish("stuck", b"stuck", properties=PERSISTENT)
        for _ in range(17):
            client.publish("busy", bytes(1 << 20), properties=PERSISTENT)
        await node.settled()
    assert node.size_bytes() > 5 * SEGMENT_BYTES
    purge_now(node.queues["busy"])
    await node.until(lambda: node.size_bytes() <= 2 * SEGMENT_BYTES)
    assert await node.get(client, "stuck") == b"stuck"
    node.driver.close()
    again = Node(tmp_path)
    assert again.queues["stuck"].ready == 4
    assert await again.get(again.lone.client(), "stuck") == b"stuck"
    again.driver.close()


async def test_damage_is_reported_by_queue(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path)
    client = node.lone.client()
    client.send(1, QueueDeclare("q", durable=True, nowait=True))
    for number in range(10):
        client.publish("q", b"body %d" % number, properties=PERSISTENT)
    await node.settled()
    node.driver.close()
    (name,) = [name for name in os.listdir(tmp_path) if name.endswith(".segment")]
    file = tmp_path / name
    data = bytearray(file.read_bytes())
    data[data.index(b"body 4")] ^= 1
    file.write_bytes(data)

    again = Node(tmp_path)
    client = again.lone.client()
    found = [await again.get(client, "q") for _ in range(9)]
    assert found == [b"body %d" % number for number in range(10) if number != 4]
    damage = again.driver.damage
    assert damage.lost_messages + damage.unreadable_reads == 1
    assert "lost" in caplog.text
    again.driver.close()


@pytest.mark.parametrize(("offset", "part"), [(20, "the header"), (-1, "the footer")])
async def test_damage_that_costs_no_message_is_told_with_its_place_and_what_helps(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, offset: int, part: str
) -> None:
    node = Node(tmp_path)
    client = node.lone.client()
    client.send(1, QueueDeclare("q", durable=True, nowait=True))
    client.publish("q", b"body", properties=PERSISTENT)
    await node.settled()
    node.driver.close()
    (name,) = [name for name in os.listdir(tmp_path) if name.endswith(".segment")]
    file = tmp_path / name
    data = bytearray(file.read_bytes())
    data[offset] ^= 1
    file.write_bytes(data)

    again = Node(tmp_path)
    assert await again.get(again.lone.client(), "q") == b"body"
    assert "1 messages after a clean stop" in caplog.text
    assert f"of {file.name} ({part}" in caplog.text
    assert f"`mqkit broker store check {tmp_path}`" in caplog.text
    again.driver.close()


async def test_no_room_for_a_spare_is_an_alarm_until_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path)
    await node.until((tmp_path / SPARE_FILE).exists)
    reserve = os.posix_fallocate

    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    client = node.lone.client()
    client.send(1, QueueDeclare("q", durable=True, nowait=True))
    for _ in range(17):
        client.publish("q", bytes(1 << 20), properties=PERSISTENT)
    await node.settled()
    assert node.alarms == [Alarm.DISK]
    client.send(1, BasicGet("q", no_ack=True))
    await node.settled()
    assert node.alarms == [Alarm.DISK], "a sync alone doesn't end it"
    node.driver.retry()
    await node.settled()
    assert node.alarms == [Alarm.DISK]
    monkeypatch.setattr(os, "posix_fallocate", reserve)
    node.driver.retry()
    await node.until(lambda: not node.alarms)
    assert (tmp_path / SPARE_FILE).exists()
    node.driver.close()


async def test_less_free_than_the_limit_is_an_alarm_from_the_start(tmp_path: Path) -> None:
    node = Node(tmp_path, disk_free_limit_bytes=1 << 60)
    assert node.alarms == [Alarm.DISK]
    node.driver.close()


async def test_memory_has_nothing_to_restore(tmp_path: Path) -> None:
    driver = MemoryDriver()
    lone = LoneBroker(driver.journal)
    driver.restore_into(lone.broker)
    node = Node(tmp_path)
    driver.start(asyncio.get_running_loop(), node)
    driver.kick()
    driver.retry()
    driver.close()
    assert driver.damage == StoreDamage()
    broker: Broker = lone.broker
    assert broker.vhosts["/"].queues == {}
    node.driver.close()
