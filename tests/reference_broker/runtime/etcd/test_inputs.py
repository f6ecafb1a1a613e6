"""Inputs: later, in order, from any thread, and none after the end."""

from __future__ import annotations

import asyncio

import pytest

from reference_broker.runtime.etcd.inputs import Inputs, Step

pytestmark = pytest.mark.anyio


async def test_steps_run_later_and_in_order() -> None:
    seen: list[object] = []

    def as_input(step: Step) -> None:
        seen.append("input")
        step()

    inputs = Inputs(asyncio.get_running_loop(), as_input)
    inputs.give(lambda: seen.append(1))
    inputs.give(lambda: seen.append(2))
    assert seen == []
    await asyncio.sleep(0)
    assert seen == ["input", 1, "input", 2]


async def test_none_runs_after_the_end() -> None:
    seen: list[int] = []
    inputs = Inputs(asyncio.get_running_loop(), lambda step: step())
    inputs.give(lambda: seen.append(1))
    inputs.close()
    inputs.give(lambda: seen.append(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert seen == []


async def test_a_thread_may_hand_steps_in() -> None:
    loop = asyncio.get_running_loop()
    inputs = Inputs(loop, lambda step: step())
    done = loop.create_future()
    await asyncio.to_thread(inputs.give_from_thread, lambda: done.set_result(5))
    assert await done == 5


def test_a_loop_that_is_closed_is_told_nothing() -> None:
    loop = asyncio.new_event_loop()
    inputs = Inputs(loop, lambda step: step())
    loop.close()
    inputs.give_from_thread(lambda: None)
