"""Channels that do what the test says, and a publisher over them, for the parts whose decisions
don't need a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest

from mqkit.errors import MqkitError
from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown
from mqkit.pool.channel_pool import ChannelPool
from mqkit.pool.publisher import Publisher
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import OnClosed, OnSettled


class ScriptedChannel:
    """Confirms what the test tells it to, and when."""

    def __init__(self) -> None:
        self.is_open = True
        self.written: list[Message] = []
        self.pending: list[asyncio.Future[Outcome]] = []
        self.on_write: Callable[[], None] = lambda: None
        self._quiet = asyncio.Event()
        self._callbacks: list[OnClosed] = []

    @property
    def unconfirmed(self) -> int:
        return len(self.pending)

    async def wait_quiescent(self) -> None:
        while self.pending:
            self._quiet.clear()
            await self._quiet.wait()

    async def publish_many(self, messages: Sequence[Message]) -> list[asyncio.Future[Outcome]]:
        self.written.extend(messages)
        self.on_write()
        futures: list[asyncio.Future[Outcome]] = [
            asyncio.get_running_loop().create_future() for _ in messages
        ]
        self.pending.extend(futures)
        return futures

    def answer(self, *outcomes: Outcome) -> None:
        """The outcomes of the oldest publishes in flight."""
        for outcome in outcomes:
            self.pending.pop(0).set_result(outcome)
        self._quiet.set()

    def breaks(self, error: MqkitError | None) -> None:
        """The channel is closed by somebody else; all in flight is unknown."""
        self.is_open = False
        self.answer(*(Unknown("closed") for _ in self.pending))
        for callback in self._callbacks:
            callback(error)

    async def close(self) -> None:
        if self.is_open:
            self.breaks(None)

    def on_closed(self, callback: OnClosed) -> None:
        self._callbacks.append(callback)


class RunChannel(ScriptedChannel):
    """The same for whoever publishes runs: what is answered together is told together."""

    def __init__(self) -> None:
        super().__init__()
        self._publishes: list[tuple[OnSettled, int]] = []
        self.at_once: list[Message] = []
        """The messages of ``written`` that did not wait for the end of a turn."""
        self.has_room = True

    @property
    def unconfirmed(self) -> int:
        return len(self._publishes)

    async def publish_run(self, messages: Sequence[Message], on_settled: OnSettled) -> None:
        self.written.extend(messages)
        self.on_write()
        self._publishes.extend((on_settled, position) for position in range(len(messages)))

    @property
    def can_publish_now(self) -> bool:
        return self.is_open and self.has_room

    def publish_now(self, message: Message, on_settled: OnSettled) -> None:
        self.written.append(message)
        self.at_once.append(message)
        self.on_write()
        self._publishes.append((on_settled, 0))

    def answer(self, *outcomes: Outcome) -> None:
        answered = self._publishes[: len(outcomes)]
        del self._publishes[: len(outcomes)]
        told = iter(outcomes)
        for on_settled, group in groupby(answered, key=itemgetter(0)):
            positions = [position for _, position in group]
            assert positions == list(range(positions[0], positions[0] + len(positions)))
            on_settled(positions[0], [next(told) for _ in positions])
        self._quiet.set()

    def breaks(self, error: MqkitError | None) -> None:
        self.is_open = False
        for callback in self._callbacks:
            callback(error)
        self.answer(*(Unknown("closed") for _ in self._publishes))


class Stage:
    """A publisher with one lane, the channels that it opens, and a gate to hold it back."""

    def __init__(self, new_channel: Callable[[], Any]) -> None:
        self._new_channel = new_channel
        self.channels: list[Any] = []
        self.clock = FakeClock()
        self.writable = asyncio.Event()
        self.writable.set()
        self.over: Exception | None = None
        self.blocked: str | None = None
        self._on_blocked: list[Callable[[str], None]] = []
        self._news = asyncio.Event()

    async def open_channel(self) -> Any:
        self.channels.append(self._new_channel())
        self.channels[-1].on_write = self._news.set
        return self.channels[-1]

    @property
    def is_writable(self) -> bool:
        return self.writable.is_set() and self.over is None

    async def wait_writable(self) -> None:
        await self.writable.wait()
        if self.over is not None:
            raise self.over

    def describe(self) -> str:
        return "as the test says"

    def on_blocked(self, callback: Callable[[str], None]) -> Callable[[], None]:
        self._on_blocked.append(callback)
        return lambda: self._on_blocked.remove(callback)

    @property
    def listeners(self) -> int:
        """The number of those who want to hear of blocks."""
        return len(self._on_blocked)

    def block(self, reason: str) -> None:
        """``connection.blocked``."""
        self.writable.clear()
        self.blocked = reason
        for callback in tuple(self._on_blocked):
            callback(reason)

    def unblock(self) -> None:
        """``connection.unblocked``."""
        self.blocked = None
        self.writable.set()

    async def written(self, channel: int, count: int) -> list[str]:
        """The bodies that the channel was given, once they are ``count``."""
        async with asyncio.timeout(10):
            while len(self.channels) <= channel or len(self.channels[channel].written) < count:
                self._news.clear()
                await self._news.wait()
        return [written.body.decode() for written in self.channels[channel].written]

    def publisher(self, **options: Any) -> Publisher:
        pool = ChannelPool(self.open_channel, channels_max=1, clock=self.clock)
        options = {"window": 3, "max_message_bytes": 100, **options}
        return Publisher(pool, self, lanes=1, clock=self.clock, **options)


@pytest.fixture
def new_channel() -> Callable[[], ScriptedChannel]:
    return ScriptedChannel


@pytest.fixture
def new_run_channel() -> Callable[[], RunChannel]:
    return RunChannel


@pytest.fixture(params=[ScriptedChannel, RunChannel], ids=["futures", "runs"])
def new_channel_of_either_kind(request: pytest.FixtureRequest) -> Callable[[], ScriptedChannel]:
    kind: type[ScriptedChannel] = request.param
    return kind


@pytest.fixture
def new_stage() -> Callable[[Callable[[], Any]], Stage]:
    return Stage


@pytest.fixture
def stage(new_channel_of_either_kind: Callable[[], Any]) -> Stage:
    return Stage(new_channel_of_either_kind)
