"""A broker with a queue, its retry tiers and its parking lot; deleted after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed
from mqkit.retry import RetryPolicy, compile_policy
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Connection, Endpoint
from mqkit.url import parse

TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Bench:
    """The queue ``name`` with one tier of 50 ms and a parking lot, and a connection for tests."""

    endpoint: Endpoint
    connection: Connection
    name: str

    @property
    def lot(self) -> str:
        return f"{self.name}.parked"

    async def publish(self, queue: str, *bodies: bytes, **properties: Any) -> None:
        channel = await self.connection.channel(confirms=True)
        futures = await channel.publish_many(
            [Message("", queue, body, Properties(**properties)) for body in bodies]
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
    transport = NativeTransport()
    connection = await transport.connect(endpoint, name="test", timeout_s=TIMEOUT_S)
    name = unique("delays")
    queues = [Queue(name), *compile_policy(name, RetryPolicy.of("50ms"))]
    channel = await connection.channel()
    for queue in queues:
        await channel.declare_queue(queue)
    try:
        yield Bench(endpoint, connection, name)
    finally:
        if not channel.is_open:
            channel = await connection.channel()
        for queue in queues:
            await channel.delete_queue(queue.name)
        await connection.close()
