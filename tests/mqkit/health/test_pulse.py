"""The pulse of an event loop."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.health.pulse import Pulse

pytestmark = pytest.mark.anyio


async def test_its_age_is_the_time_since_the_last_beat() -> None:
    now_s = 100.0
    pulse = Pulse(lambda: now_s)
    assert pulse.age_s == 0
    pulse.begin()
    now_s += 7
    assert pulse.age_s == 7
    pulse.end()
    pulse.end()
    assert pulse.age_s == 0


async def test_it_beats_by_itself() -> None:
    beats = 0

    def now_s() -> float:
        nonlocal beats
        beats += 1
        if beats == 2:
            seen.set()
        return 0.0

    seen = asyncio.Event()
    pulse = Pulse(now_s)
    pulse.begin()
    async with asyncio.timeout(20):
        await seen.wait()
    pulse.end()
