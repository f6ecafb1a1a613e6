"""A channel that does what the test says, for the parts whose decisions don't need a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter

import pytest

from mqkit.errors import MqkitError
from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown
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
