"""Callers: tasks that publish and wait for the confirm, again and again, as a service's would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from itertools import repeat
from typing import Any

from mqkit_bench.client.meter import Meter
from mqkit_bench.client.scenario import IN_FLIGHT_MAX, Load, Play


async def publish_each(
    publish: Callable[[bytes], Awaitable[bool]], load: Load, callers: int
) -> int:
    """So many callers share the messages. Returns for how many ``publish`` said true."""
    bodies = repeat(load.body, load.messages)

    async def caller() -> int:
        confirmed = 0
        for body in bodies:
            confirmed += await publish(body)
        return confirmed

    return sum(await asyncio.gather(*(caller() for _ in range(callers))))


async def publish_batches(
    publish: Callable[[int], Awaitable[int]], load: Load, callers: int
) -> int:
    """So many callers share the messages, each a batch at a time, with as many in flight in all as
    there may be. ``publish`` gets the size of a batch. Returns how many it said are confirmed."""
    size = IN_FLIGHT_MAX // callers
    sizes = (min(size, load.messages - start) for start in range(0, load.messages, size))

    async def caller() -> int:
        confirmed = 0
        for each in sizes:
            confirmed += await publish(each)
        return confirmed

    return sum(await asyncio.gather(*(caller() for _ in range(callers))))


def in_event_loop(play: Callable[[str, Load, Meter], Coroutine[Any, Any, int]]) -> Play:
    """A play that is a coroutine function, each time in a loop of its own: asyncio's, for all."""

    def run(url: str, load: Load, meter: Meter) -> int:
        return asyncio.run(play(url, load, meter))

    return run
