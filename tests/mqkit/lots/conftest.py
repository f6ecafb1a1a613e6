"""A broker with a working queue and its parking lot, and an archive of our own in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.lots.link import LotLink
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed
from mqkit.retry import compile_parking_lot
from mqkit.retry.headers import ORIGINAL_EXCHANGE, PARKED_AT
from mqkit.retry.headers import QUEUE as QUEUE_HEADER
from mqkit.topology.lot_model import ArchiveModel
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Connection, Endpoint
from mqkit.url import parse

TIMEOUT_S = 20.0


@dataclass(slots=True)
class MemoryArchive:
    """Keeps bodies: those that were added in this run, and all that were synced. ``fault`` is
    raised instead of a sync."""

    fault: OSError | None = None
    added: list[bytes] = field(default_factory=list)
    synced: list[bytes] = field(default_factory=list)

    def __call__(self, model: ArchiveModel, vhost: str) -> MemoryArchive:
        return self

    @asynccontextmanager
    async def run(self, lot: str) -> AsyncIterator[MemoryArchive]:
        self.added = []
        yield self

    async def add(self, messages: Sequence[Delivery]) -> None:
        self.added += [message.body for message in messages]

    async def sync(self) -> None:
        if self.fault is not None:
            raise self.fault
        self.synced += self.added
        self.added = []


@dataclass(frozen=True, slots=True)
class Bench:
    """The queue ``name`` and its parking lot, and a connection for tests."""

    url: str
    endpoint: Endpoint
    connection: Connection
    name: str

    @property
    def lot(self) -> str:
        return f"{self.name}.parked"

    async def park(self, *bodies: bytes, ago_s: float = 0.0, **headers: Any) -> None:
        """Put messages into the lot as mqkit does, parked so many seconds ago."""
        at = datetime.now(UTC) - timedelta(seconds=ago_s)
        failed = {PARKED_AT: at.isoformat(), QUEUE_HEADER: self.name, ORIGINAL_EXCHANGE: ""}
        await self.publish(self.lot, *bodies, headers={**failed, **headers})

    async def publish(self, queue: str, *bodies: bytes, headers: dict[str, Any]) -> None:
        channel = await self.connection.channel(confirms=True)
        futures = await channel.publish_many(
            [
                Message("", queue, body, Properties(headers=headers, message_id=body.decode()))
                for body in bodies
            ]
        )
        for future in futures:
            assert isinstance(await future, Confirmed)
        await channel.close()

    async def drain(self, queue: str) -> list[Delivery]:
        """Everything ready in ``queue``, taken out."""
        channel = await self.connection.channel()
        found = []
        while (delivery := await channel.get(queue, no_ack=True)) is not None:
            found.append(delivery)
        await channel.close()
        return found

    async def bodies(self, queue: str) -> list[bytes]:
        return [delivery.body for delivery in await self.drain(queue)]


@pytest.fixture
async def bench(broker: Any, unique: Callable[[str], str]) -> AsyncIterator[Bench]:
    endpoint = parse(broker.url)
    connection = await NativeTransport().connect(endpoint, name="test", timeout_s=TIMEOUT_S)
    name = unique("email")
    queues = [Queue(name), compile_parking_lot(name)]
    channel = await connection.channel()
    for queue in queues:
        await channel.declare_queue(queue)
    try:
        yield Bench(broker.url, endpoint, connection, name)
    finally:
        if not channel.is_open:
            channel = await connection.channel()
        for queue in queues:
            await channel.delete_queue(queue.name)
        await connection.close()


@pytest.fixture
def archive() -> MemoryArchive:
    return MemoryArchive()


@dataclass(frozen=True, slots=True)
class Yard:
    """The queue ``name`` and its lot, and a connection for tests."""

    link: LotLink
    connection: Connection
    name: str

    @property
    def lot(self) -> str:
        return f"{self.name}.parked"

    async def publish(self, queue: str, *bodies: bytes, **properties: Any) -> None:
        await self.send([Message("", queue, body, Properties(**properties)) for body in bodies])

    async def send(self, messages: Sequence[Message]) -> None:
        channel = await self.connection.channel(confirms=True)
        for future in await channel.publish_many(messages):
            assert isinstance(await future, Confirmed)
        await channel.close()

    async def drain(self, queue: str) -> list[Delivery]:
        """Everything ready in ``queue``, taken out."""
        channel = await self.connection.channel()
        found = []
        while (delivery := await channel.get(queue, no_ack=True)) is not None:
            found.append(delivery)
        await channel.close()
        return found

    async def bodies(self, queue: str) -> list[bytes]:
        return [delivery.body for delivery in await self.drain(queue)]

    async def declare(self, name: str, **arguments: Any) -> None:
        channel = await self.connection.channel()
        given = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        await channel.declare_queue(Queue(name, arguments=given))
        await channel.close()


@pytest.fixture
async def yard(broker: Any, unique: Callable[[str], str]) -> AsyncIterator[Yard]:
    endpoint = parse(broker.url)
    name = unique("q")
    unique("q.parked")  # deleted with the others afterwards
    connection = await NativeTransport(exact=True).connect(
        endpoint, name="test", timeout_s=TIMEOUT_S
    )
    made = Yard(LotLink(endpoint, TIMEOUT_S), connection, name)
    await made.declare(name)
    await made.declare(made.lot)
    try:
        yield made
    finally:
        await connection.close()
