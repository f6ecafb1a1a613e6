"""A shop: an exchange, a queue that is bound to it twice, and messages with ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.message import Message, Properties
from mqkit.topology import Topology
from mqkit.topology.live.management import Management, open_management
from mqkit.topology.migration import Report, Request, migrate
from mqkit.topology.migration.progress import Record
from mqkit.topology.migration.session import LOOK_AGAIN_S, Site
from mqkit.topology.throwaway import declare
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Channel, Connection

TIMEOUT_S = 20.0
SETTLE_S = 0.05
"""Tests look at queues that nobody uses: old counts say the same as new ones."""


class Killed(Exception):
    """The end of a run, from outside."""


@dataclass(slots=True)
class Shop:
    """``queue`` is bound to ``exchange`` by two keys, and ``key`` fits both."""

    bench: Any
    connection: Connection
    channel: Channel
    folder: Path
    published: list[str] = field(default_factory=list)
    wait_s: float = 20.0
    timeout_s: float = TIMEOUT_S
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    key = "a.b"

    @property
    def exchange(self) -> str:
        return f"{self.bench.prefix}.x"

    @property
    def queue(self) -> str:
        return f"{self.bench.prefix}.q"

    @property
    def bindings(self) -> list[Binding]:
        return [Binding(self.exchange, self.queue, key) for key in ("a.#", "*.b")]

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def site(self) -> Site:
        return Site(
            self.bench.endpoint,
            self.bench.management_url,
            timeout_s=self.timeout_s,
            wait_s=self.wait_s,
            settle_s=SETTLE_S,
            sleep=self.sleep,
        )

    async def declare(self, *declarations: Declaration) -> None:
        for declaration in declarations:
            await declare(self.channel, declaration)

    async def publish(self, count: int, *, exchange: str | None = None, key: str = "") -> None:
        """Through the exchange, unless another way is named; ids go on from the last."""
        ids = [f"m{len(self.published) + number}" for number in range(count)]
        to = (self.exchange, self.key) if exchange is None else (exchange, key)
        messages = [Message(*to, b"x", Properties(message_id=each)) for each in ids]
        await asyncio.gather(*await self.channel.publish_many(messages))
        self.published += ids

    async def taken(self, queue: str | None = None) -> list[str | None]:
        """The ids of all messages in the queue, which is empty then."""
        found = []
        while delivery := await self.channel.get(queue or self.queue, no_ack=True):
            found.append(delivery.message_id)
        return found

    def topology(self, **keys: Any) -> Topology:
        """A file that wants the queue so."""
        binds = [{"from": it.source, "key": it.key} for it in self.bindings]
        return Topology.of(
            exchanges={self.exchange: {"external": True}},
            queues={self.queue: {"bind": binds, **keys}},  # type: ignore[dict-item]
        )

    async def migrate(
        self,
        *,
        abort: bool = False,
        gap: bool = False,
        kill_at: int | None = None,
        on_record: Callable[[Record], None] = lambda record: None,
        **keys: Any,
    ) -> Report:
        """Migrate to a queue with ``keys``; raises :exc:`Killed` at that record of the run."""
        seen = 0

        def watch(record: Record) -> None:
            nonlocal seen
            seen += 1
            if seen == kill_at:
                raise Killed
            on_record(record)

        request = Request(self.topology(**keys), self.queue, self.journal, abort=abort, gap=gap)
        return await migrate(self.site, request, on_record=watch)

    async def counts_unacked(self, count: int) -> None:
        """Return when the management API tells this count of the queue."""
        endpoint, url = self.bench.endpoint, self.bench.management_url
        async with open_management(url, endpoint.vhost, timeout_s=TIMEOUT_S) as management:
            async with asyncio.timeout(TIMEOUT_S):
                while (await _row(management, self.queue)).get("messages_unacknowledged") != count:
                    await self.sleep(LOOK_AGAIN_S)

    async def names(self) -> set[str]:
        """All queues and exchanges of this test, and the ends of all bindings."""
        found = await self.bench.snapshot()
        return {
            *(it.name for it in found.exchanges),
            *(it.queue.name for it in found.queues),
            *(it.destination for it in found.bindings),
        }

    async def live(self) -> Queue | None:
        found = await self.bench.snapshot()
        queues: Sequence[Queue] = [it.queue for it in found.queues]
        return next((it for it in queues if it.name == self.queue), None)

    async def is_bound_as_before(self) -> bool:
        found = (await self.bench.snapshot()).bindings
        return {(it.source, it.destination, it.key) for it in found} == {
            (it.source, it.destination, it.key) for it in self.bindings
        }


async def _row(management: Management, queue: str) -> Mapping[str, Any]:
    return await management.queue(queue) or {}


@pytest.fixture
async def shop(bench: Any, broker: Any, tmp_path: Path) -> AsyncIterator[Shop]:
    connection = await NativeTransport().connect(bench.endpoint, name="t", timeout_s=TIMEOUT_S)
    channel = await connection.channel(confirms=True)
    made = Shop(bench, connection, channel, tmp_path)
    if broker.is_reference:  # whose counts are never old
        made.sleep = lambda _: asyncio.sleep(0)
    await made.declare(Exchange(made.exchange, "topic"), Queue(made.queue), *made.bindings)
    yield made
    await connection.close()


@pytest.fixture
def killed() -> type[Exception]:
    """Raised by ``shop.migrate`` at ``kill_at``."""
    return Killed
