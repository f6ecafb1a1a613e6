"""The one timer: soonest wins, later never moves it, and it fires once."""

from __future__ import annotations

import asyncio

import pytest

from reference_broker.runtime.process.timers import TickTimer


class Handle:
    def __init__(self, at: float) -> None:
        self.at = at
        self.cancelled = False

    def when(self) -> float:
        return self.at

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """As much of a loop as a timer needs."""

    def __init__(self) -> None:
        self.handles: list[Handle] = []
        self.callbacks: list[object] = []

    def call_at(self, at: float, callback: object) -> Handle:
        self.handles.append(Handle(at))
        self.callbacks.append(callback)
        return self.handles[-1]


@pytest.fixture
def loop() -> Loop:
    return Loop()


def timer(loop: Loop, ticks: list[None]) -> TickTimer:
    return TickTimer(loop.call_at, lambda: ticks.append(None))


def test_the_soonest_wins(loop: Loop) -> None:
    one = timer(loop, [])
    one.arm(None)
    assert loop.handles == []
    one.arm(10)
    one.arm(12)
    assert len(loop.handles) == 1
    one.arm(5)
    assert [(handle.at, handle.cancelled) for handle in loop.handles] == [(10, True), (5, False)]


def test_after_it_fired_it_can_be_armed_again(loop: Loop) -> None:
    ticks: list[None] = []
    one = timer(loop, ticks)
    one.arm(5)
    callback = loop.callbacks[0]
    assert callable(callback)
    callback()
    assert len(ticks) == 1
    one.arm(12)
    assert len(loop.handles) == 2


def test_cancel(loop: Loop) -> None:
    one = timer(loop, [])
    one.cancel()
    one.arm(5)
    one.cancel()
    assert loop.handles[0].cancelled


@pytest.mark.anyio
async def test_on_a_real_loop() -> None:
    loop = asyncio.get_running_loop()
    ticked = asyncio.Event()
    one = TickTimer(loop.call_at, ticked.set)
    one.arm(loop.time())
    await asyncio.wait_for(ticked.wait(), 5)
