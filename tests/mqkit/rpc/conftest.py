"""A confirm channel in memory, which does what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mqkit.errors import MqkitError
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome
from mqkit.transport.seam import OnClosed, OnDelivery


class Wire:
    """Keeps the seam of a channel as far as calls need it; the test plays the broker."""

    def __init__(self) -> None:
        self.is_open = True
        self.said: list[str] = []
        self.written: list[Message] = []
        self.confirms: list[asyncio.Future[Outcome]] = []
        self.wrote = asyncio.Event()
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.refusal: MqkitError | None = None
        self._deliver: OnDelivery | None = None
        self._callbacks: list[OnClosed] = []

    async def consume(self, queue: str, on_delivery: OnDelivery, **options: Any) -> str:
        await asyncio.sleep(0)
        self.said.append(f"consume {queue} {options}")
        if self.refusal is not None:
            raise self.refusal
        self._deliver = on_delivery
        return "tag"

    async def publish_many(self, messages: Sequence[Message]) -> list[asyncio.Future[Outcome]]:
        await self.may_write.wait()
        self.said.append(f"publish {len(messages)}")
        self.written += messages
        loop = asyncio.get_running_loop()
        new: list[asyncio.Future[Outcome]] = [loop.create_future() for _ in messages]
        self.confirms += new
        self.wrote.set()
        return new

    def on_closed(self, callback: OnClosed) -> None:
        self._callbacks.append(callback)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.said.append("close")
        self.ends(None)

    # -- what the broker does ----------------------------------------------------------------

    async def until_written(self, count: int) -> None:
        while len(self.written) < count:
            self.wrote.clear()
            await self.wrote.wait()

    def answers(self, question: Message, body: bytes, **properties: Any) -> None:
        correlation_id = question.properties.correlation_id
        assert self._deliver is not None
        answer = Properties(correlation_id=correlation_id, **properties)
        self._deliver(Delivery("", "address", body, answer, 1, False))

    def settles(self, place: int, outcome: Outcome | None = None) -> None:
        self.confirms[place].set_result(Confirmed() if outcome is None else outcome)

    def ends(self, error: MqkitError | None) -> None:
        if self.is_open:
            self.is_open = False
            for callback in self._callbacks:
                callback(error)


@pytest.fixture
def wire() -> Wire:
    return Wire()
