"""A queue of its own for each test, on either broker, and the apps that work on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import mqkit
from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.message import Message, Properties
from mqkit.topology import Topology, compile_topology, loads
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Connection
from mqkit.url import parse

WAIT_S = 20.0


class Scene:
    """The test's queue, and a connection beside the app's to look at it from outside."""

    def __init__(self, url: str, queue: str, connection: Connection) -> None:
        self.url = url
        self.queue = queue
        self.parked = f"{queue}.parked"
        self.outside = connection
        self._queues: dict[str, None] = {queue: None}

    def topology(self, settings: str = "{}") -> Topology:
        """One queue, with what the test wants of it: ``{retry: {after: [10ms], then: park}}``, and
        a plain one called ``.dead``."""
        topology = loads(f"queues:\n  {self.queue}: {settings}\n  {self.queue}.dead: {{}}\n")
        for declared in compile_topology(topology):
            if isinstance(declared, Queue):
                self._queues[declared.name] = None
        return topology

    def app(self, settings: str = "{}", *, url: str = "", **options: Any) -> mqkit.App:
        """An app that knows the queue, and reconnects at once."""
        fast = mqkit.Settings.load(
            urls=url or self.url, reconnect_first_s=0.01, reconnect_max_s=0.05
        )
        return mqkit.App(topology=self.topology(settings), settings=fast, **options)

    async def put(self, *bodies: bytes) -> None:
        """Messages in the queue, their ids ``m0``, ``m1`` ..., before the app runs."""
        channel = await self.outside.channel(confirms=True)
        await channel.declare_queue(Queue(self.queue))
        messages = [
            Message("", self.queue, body, Properties(message_id=f"m{index}"))
            for index, body in enumerate(bodies)
        ]
        assert all(await asyncio.gather(*await channel.publish_many(messages)))
        await channel.close()

    async def ready(self, queue: str = "") -> int:
        """The number of ready messages in the queue."""
        channel = await self.outside.channel()
        state = await channel.declare_queue(Queue(queue or self.queue), passive=True)
        await channel.close()
        return state.message_count

    async def consumers(self) -> int:
        """The number of consumers that the queue has."""
        channel = await self.outside.channel()
        state = await channel.declare_queue(Queue(self.queue), passive=True)
        await channel.close()
        return state.consumer_count

    async def until_ready(self, count: int) -> None:
        """Return when so many messages lie ready. Each look is a round trip to the broker."""
        async with asyncio.timeout(WAIT_S):
            while await self.ready() != count:
                pass

    async def until_declared(self) -> None:
        """Return when the queue is there."""
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    await self.ready()
                except ChannelError:
                    continue
                return

    async def delete(self, queue: str = "") -> None:
        channel = await self.outside.channel()
        await channel.delete_queue(queue or self.queue)
        await channel.close()

    async def refuse(self, queue: str) -> None:
        """Have another queue of that name, which takes nothing."""
        await self.delete(queue)
        channel = await self.outside.channel()
        refusing = {"x-max-length": 0, "x-overflow": "reject-publish"}
        await channel.declare_queue(Queue(queue, arguments=refusing))
        await channel.close()

    async def clean(self) -> None:
        for queue in self._queues:
            await self.delete(queue)


class Inbox:
    """The items that handlers saw, and waiting for more."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._news = asyncio.Event()

    def add(self, item: Any) -> None:
        self.items.append(item)
        self._news.set()

    async def until(self, count: int) -> None:
        await self.when(lambda items: len(items) >= count)

    async def when(self, holds: Callable[[list[Any]], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not holds(self.items):
                self._news.clear()
                await self._news.wait()


@pytest.fixture
async def scene(broker: Any, unique: Callable[[str], str]) -> AsyncIterator[Scene]:
    connection = await NativeTransport().connect(
        parse(broker.url), name="beside the test", timeout_s=WAIT_S
    )
    scene = Scene(broker.url, unique("queue"), connection)
    try:
        yield scene
        await scene.clean()
    finally:
        await connection.close()


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def new_inbox() -> Callable[[], Inbox]:
    return Inbox
