from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.pool.run_writer import run_writer
from mqkit.transport.seam import OnSettled

pytestmark = pytest.mark.anyio

MESSAGES = [Message("x", "k", b"1"), Message("x", "k", b"2")]


async def test_a_channel_with_futures_tells_of_each_message(new_channel: Callable[[], Any]) -> None:
    channel = new_channel()
    told: list[tuple[int, Sequence[Outcome]]] = []
    await run_writer(channel)(MESSAGES, lambda *settled: told.append(settled))
    assert channel.written == MESSAGES
    refused = Rejected(RejectReason.NACKED)
    channel.answer(Confirmed("1"), refused)
    await asyncio.sleep(0)
    assert told == [(0, (Confirmed("1"),)), (1, (refused,))]


async def test_a_channel_that_takes_runs_is_given_them() -> None:
    given: list[object] = []

    class Native:
        async def publish_run(self, messages: Sequence[Message], on_settled: OnSettled) -> None:
            given.extend((messages, on_settled))

        @property
        def can_publish_now(self) -> bool:
            return True

        def publish_now(self, message: Message, on_settled: OnSettled) -> None: ...

    def on_settled(position: int, outcomes: Sequence[Outcome]) -> None: ...

    native: Any = Native()
    await run_writer(native)(MESSAGES, on_settled)
    assert given == [MESSAGES, on_settled]
