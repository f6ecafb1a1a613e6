"""Models for property tests, and a connection with names that are deleted after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from mqkit.topology import OpenChannel, Snapshot, channels_of, take_snapshot
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Endpoint
from mqkit.url import parse

TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Bench:
    """A broker where every name that begins with ``prefix`` belongs to this test."""

    endpoint: Endpoint
    management_url: str
    open_channel: OpenChannel
    prefix: str

    async def snapshot(self) -> Snapshot:
        """The broker's objects, as far as they are this test's."""
        found = await take_snapshot(self.management_url, self.endpoint.vhost, timeout_s=TIMEOUT_S)
        return replace(
            found,
            exchanges=tuple(item for item in found.exchanges if self.owns(item.name)),
            queues=tuple(item for item in found.queues if self.owns(item.queue.name)),
            bindings=tuple(item for item in found.bindings if self.owns(item.destination)),
        )

    def owns(self, name: str) -> bool:
        return name.startswith(self.prefix)


@pytest.fixture
async def bench(broker: Any, unique: Callable[[str], str]) -> AsyncIterator[Bench]:
    endpoint = parse(broker.url)
    async with channels_of(NativeTransport(), endpoint, timeout_s=TIMEOUT_S) as open_channel:
        bench = Bench(endpoint, broker.management_url, open_channel, unique("t"))
        try:
            yield bench
        finally:
            left = await bench.snapshot()
            channel = await open_channel()
            for queue in left.queues:
                await channel.delete_queue(queue.queue.name)
            for exchange in left.exchanges:
                await channel.delete_exchange(exchange.name)
