"""turn_share: one portion of HTTP a turn of the loop, lanes in turns."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from starlette.requests import Request

from reference_broker.http.request.turn_share import Turns, TurnShare, next_turn

pytestmark = pytest.mark.anyio


class Loop:
    """Counts the turns of the running loop, until it is stopped."""

    def __init__(self) -> None:
        self.turn = 0
        self._going = True
        self._count()

    def _count(self) -> None:
        self.turn += 1
        if self._going:
            asyncio.get_running_loop().call_soon(self._count)

    def stop(self) -> None:
        self._going = False


async def test_never_two_portions_in_a_turn() -> None:
    share, loop = TurnShare(), Loop()
    portions: list[int] = []

    async def answer(lane: str) -> None:
        for _ in range(3):
            await share.turn(lane)
            portions.append(loop.turn)

    def step() -> None:
        portions.append(loop.turn)

    answers = [asyncio.create_task(answer(f"10.0.0.{number % 4}")) for number in range(20)]
    for _ in range(20):
        share.ask(step)
    await asyncio.gather(*answers)
    for _ in range(20):  # what is asked now comes after all that was asked before
        await share.turn()
    loop.stop()
    assert len(set(portions)) == 80


async def test_a_place_is_never_at_once() -> None:
    share = TurnShare()
    done = asyncio.Event()
    share.ask(done.set)
    assert not done.is_set()
    assert len(share) == 1
    await asyncio.wait_for(done.wait(), 10)
    assert len(share) == 0


async def test_an_address_is_not_behind_all_of_another_one() -> None:
    share = TurnShare()
    order: list[str] = []
    for number in range(100):
        share.ask(partial(order.append, f"stranger {number}"), "10.0.0.1")
    share.ask(partial(order.append, "administrator"), "127.0.0.1")
    await share.turn("10.0.0.1")
    assert order.index("administrator") <= 1
    assert order[-1] == "stranger 99"


async def test_who_left_is_no_hindrance() -> None:
    share = TurnShare()
    leaver = asyncio.create_task(share.turn())
    stayer = asyncio.create_task(share.turn())
    await asyncio.sleep(0)
    leaver.cancel()
    await asyncio.wait_for(stayer, 10)
    assert leaver.cancelled()


async def test_a_step_that_raises_leaves_the_others_their_places() -> None:
    share = TurnShare()
    done: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: done.append(str(context["exception"])))

    def mistake() -> None:
        raise ValueError("a mistake")

    share.ask(mistake)
    share.ask(partial(done.append, "the next one"))
    await share.turn()
    assert done == ["a mistake", "the next one"]


async def test_a_place_is_measured_and_nothing_else() -> None:
    diary: list[str] = []
    share = TurnShare(partial(diary.append, "begins"), partial(diary.append, "ends"))

    async def answer() -> None:
        await share.turn("10.0.0.1")
        diary.append("a portion")
        await share.turn("10.0.0.1")
        diary.append("another")

    share.ask(partial(diary.append, "a step"), "10.0.0.2")
    await answer()
    await asyncio.sleep(0)
    places = ["a step", "a portion", "another"]
    assert diary == [each for place in places for each in ("begins", place, "ends")]


async def test_a_request_takes_places_of_its_share() -> None:
    share = TurnShare()
    scope = {"type": "http"}
    Turns(share, "10.0.0.1").put_into(scope)
    waiting = asyncio.create_task(next_turn(Request(scope)))
    await asyncio.sleep(0)
    assert len(share) == 1
    await waiting
    assert len(share) == 0


async def test_a_request_without_a_share_lets_the_loop_have_its_turn() -> None:
    loop = Loop()
    before = loop.turn
    await next_turn(Request({"type": "http"}))
    assert loop.turn > before
    loop.stop()
