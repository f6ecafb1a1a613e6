"""An app that watches its topology, what it tells, and a hand that changes things beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio.lowlevel
import pytest

import mqkit
from mqkit.declaration import Queue
from mqkit.drift import Drift, DriftKind
from mqkit.errors import ChannelError
from mqkit.topology import loads
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Channel, Connection
from mqkit.url import parse

WAIT_S = 20.0


class Told:
    """The drifts that a program is told, and waiting for them."""

    def __init__(self) -> None:
        self.drifts: list[Drift] = []
        self._more = asyncio.Event()

    async def __call__(self, drift: Drift) -> None:
        self.drifts.append(drift)
        self._more.set()

    async def until(self, number: int) -> list[Drift]:
        """The drifts, once there are so many."""
        async with asyncio.timeout(WAIT_S):
            while len(self.drifts) < number:
                self._more.clear()
                await self._more.wait()
        return self.drifts

    async def the(self, kind: DriftKind, name: str, *, is_over: bool = False) -> Drift:
        """The first one of these, once it is told."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for drift in self.drifts:
                    if (drift.kind, drift.name, drift.is_over) == (kind, name, is_over):
                        return drift
                self._more.clear()
                await self._more.wait()

    def count(self, kind: DriftKind) -> int:
        """So many of this kind were told, and are or were so."""
        return sum(drift.kind is kind and not drift.is_over for drift in self.drifts)


class Yard:
    """Names that belong to one test, on one broker."""

    def __init__(self, broker: Any, prefix: str, outside: Connection) -> None:
        self.prefix = prefix
        self.url = broker.url
        self.management_url = broker.management_url
        self.outside = outside
        self.told = Told()

    def app(
        self, topology: str, *, every: float | None = 0.2, look: str = "amqp", **options: Any
    ) -> mqkit.App:
        """An app that looks often; ``P`` in the topology is the prefix of the test's names."""
        settings = mqkit.Settings.load(
            urls=options.pop("url", self.url),
            reconnect_first_s=0.01,
            reconnect_max_s=0.05,
            drift_rate=2000,
            management_url=self.management_url if look == "management" else None,
        )
        app = mqkit.App(
            topology=loads(topology.replace("P", self.prefix)),
            settings=settings,
            drift_every=every,
            **options,
        )
        app.on_drift(self.told)
        return app

    async def channel(self) -> Channel:
        """A channel of somebody else."""
        return await self.outside.channel()

    async def declare_instead(self, queue: Queue) -> None:
        """Delete it and declare it so; again, where the app declared its own in between."""
        while True:
            channel = await self.channel()
            await channel.delete_queue(queue.name)
            try:
                await channel.declare_queue(queue)
            except ChannelError:
                continue
            await channel.close()
            return

    async def looks(self, app: mqkit.App, number: int) -> None:
        """Return when ``app`` has looked so many times more."""
        until = app.stats.drift_looks + number
        async with asyncio.timeout(WAIT_S):
            while app.stats.drift_looks < until:
                await anyio.lowlevel.checkpoint()


@pytest.fixture
async def yard(broker: Any, unique: Callable[[str], str]) -> AsyncIterator[Yard]:
    outside = await NativeTransport().connect(parse(broker.url), name="outside", timeout_s=WAIT_S)
    prefix = unique("drift")
    yield Yard(broker, prefix, outside)
    channel = await outside.channel()
    for suffix in ("q", "q.retry.1m", "q.parked", "r"):
        await channel.delete_queue(f"{prefix}.{suffix}")
    for suffix in ("x", "y"):
        await channel.delete_exchange(f"{prefix}.{suffix}")
    await outside.close()
