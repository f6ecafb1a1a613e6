"""pauses: no clients while anybody wants none, one change at a time."""

from __future__ import annotations

import asyncio
from itertools import permutations

import pytest

from reference_broker.runtime.process.pauses import Cause, Pauses

pytestmark = pytest.mark.anyio

OPERATOR, CLUSTER = Cause.OPERATOR, Cause.CLUSTER


class Doors:
    """Clients that go when the test says so."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.gone = asyncio.Event()
        self.gone.set()
        self.is_taken = False
        self.pauses = Pauses(self.dismiss, self.listen)

    async def dismiss(self, reason: str) -> None:
        self.told.append(reason)
        await self.gone.wait()
        self.told.append("gone")

    async def listen(self) -> None:
        if self.is_taken:
            raise OSError("address already in use")
        self.told.append("listening")


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_pause_begins_and_ends_once() -> None:
    doors = Doors()
    for _ in range(2):
        await doors.pauses.begin(OPERATOR, "shutdown")
    assert doors.told == ["shutdown", "gone"]
    for _ in range(2):
        await doors.pauses.end(OPERATOR)
    assert doors.told == ["shutdown", "gone", "listening"]


@pytest.mark.parametrize("order", [*permutations(Cause)], ids=str)
async def test_it_is_over_with_the_last_that_wants_it(order: tuple[Cause, ...]) -> None:
    doors = Doors()
    for cause in Cause:
        await doors.pauses.begin(cause, f"for {cause.name}")
    for number, cause in enumerate(order, 1):
        assert doors.told == ["for OPERATOR", "gone"]
        await doors.pauses.end(cause)
        assert doors.pauses.causes == {*order[number:]}
    assert doors.told == ["for OPERATOR", "gone", "listening"]


async def test_an_end_waits_for_the_beginning() -> None:
    doors = Doors()
    doors.gone.clear()
    beginning = asyncio.create_task(doors.pauses.begin(CLUSTER, "cut off"))
    await _turns()
    ending = asyncio.create_task(doors.pauses.end(CLUSTER))
    await _turns()
    assert doors.told == ["cut off"]
    doors.gone.set()
    await asyncio.gather(beginning, ending)
    assert doors.told == ["cut off", "gone", "listening"]


async def test_what_was_wanted_meanwhile_and_is_not_any_more_does_not_happen() -> None:
    doors = Doors()
    doors.gone.clear()
    tasks = [asyncio.create_task(doors.pauses.begin(CLUSTER, "first"))]
    await _turns()
    tasks.append(asyncio.create_task(doors.pauses.end(CLUSTER)))
    await _turns()
    tasks.append(asyncio.create_task(doors.pauses.begin(CLUSTER, "second")))
    await _turns()
    doors.gone.set()
    await asyncio.gather(*tasks)
    assert doors.told == ["first", "gone"]


async def test_an_address_that_is_taken_is_tried_again() -> None:
    doors = Doors()
    await doors.pauses.begin(CLUSTER, "cut off")
    doors.is_taken = True
    with pytest.raises(OSError, match="in use"):
        await doors.pauses.end(CLUSTER)
    with pytest.raises(OSError, match="in use"):
        await doors.pauses.settle()
    doors.is_taken = False
    await doors.pauses.settle()
    await doors.pauses.settle()
    assert doors.told == ["cut off", "gone", "listening"]


async def test_nothing_begins_or_ends_once_it_is_closed() -> None:
    doors = Doors()
    doors.gone.clear()
    beginning = asyncio.create_task(doors.pauses.begin(CLUSTER, "cut off"))
    await _turns()
    closing = asyncio.create_task(doors.pauses.close())
    await _turns()
    assert not closing.done()
    doors.gone.set()
    await asyncio.gather(beginning, closing)
    await doors.pauses.end(CLUSTER)
    await doors.pauses.close()
    assert doors.told == ["cut off", "gone"]
