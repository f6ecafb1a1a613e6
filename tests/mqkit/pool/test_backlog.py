"""The octets that wait to be written, and the line of callers before them."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.pool.backlog import UNKNOWN_SIZE, WAITING_OCTETS_MAX, Backlog, Place
from mqkit.pool.terms import Terms
from mqkit.settings import Settings

pytestmark = pytest.mark.anyio

FAILS = Terms(fails_when_blocked=True)


async def every_chance() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def join(backlog: Backlog, octets: int, terms: Terms = FAILS) -> tuple[Place, asyncio.Task[bool]]:
    """Somebody who leaves the line when his turn has come, or will not come."""
    place = Place(terms, octets)
    backlog.join(place)

    async def stand() -> bool:
        try:
            return await backlog.turn(place)
        finally:
            backlog.leave(place)

    return place, asyncio.create_task(stand())


def test_the_bound_is_that_of_the_settings() -> None:
    assert Settings.load().publish_waiting_bytes_max == WAITING_OCTETS_MAX == Backlog().room


def test_what_fits_is_as_large_as_the_room_or_comes_alone() -> None:
    backlog = Backlog(3)
    assert backlog.fits(3)
    assert backlog.fits(1000)
    backlog.room -= 2
    assert backlog.fits(UNKNOWN_SIZE)
    assert not backlog.fits(2)
    backlog.room -= 1
    assert not backlog.fits(UNKNOWN_SIZE)


async def test_the_first_is_called_when_his_octets_fit_and_then_the_next() -> None:
    backlog = Backlog(3)
    backlog.room -= 3
    one, first = join(backlog, 2)
    other, second = join(backlog, 1)
    assert list(backlog.line) == [one, other]
    backlog.take(1)
    await every_chance()
    assert not first.done()
    assert not second.done()
    backlog.take(1)
    assert await first
    assert await second
    assert not backlog.line
    assert backlog.room > 0


async def test_a_message_is_put_before_the_next_one_is_called() -> None:
    backlog = Backlog(2)
    backlog.room -= 2
    place = Place(FAILS, 2)
    backlog.join(place)

    async def put() -> None:
        assert await backlog.turn(place)
        backlog.leave(place)
        backlog.room -= 2

    putting, (_, second) = asyncio.create_task(put()), join(backlog, 1)
    await every_chance()
    backlog.take(2)
    await putting
    await every_chance()
    assert not second.done()
    backlog.take(2)
    assert await second


async def test_a_place_may_need_more_room_when_its_turn_has_come() -> None:
    backlog = Backlog(4)
    backlog.room -= 2
    place = Place(FAILS, UNKNOWN_SIZE)
    backlog.join(place)
    assert await backlog.turn(place)
    place.octets = 3
    waiting = asyncio.create_task(backlog.turn(place))
    await every_chance()
    assert not waiting.done()
    backlog.take(1)
    assert await waiting


async def test_an_end_in_the_moment_of_the_call_is_an_end() -> None:
    for end in (Place.expire, lambda place: place.refuse("low on memory")):
        backlog = Backlog(1)
        backlog.room -= 1
        place, turn = join(backlog, 1)
        await every_chance()
        backlog.take(1)
        end(place)
        assert await turn is False
        assert not backlog.line


async def test_a_failed_place_raises_why() -> None:
    backlog = Backlog(1)
    backlog.room -= 1
    place, turn = join(backlog, 1)
    await every_chance()
    backlog.take(1)
    place.fail(ZeroDivisionError("why"))
    place.fail(ZeroDivisionError("why"))
    with pytest.raises(ZeroDivisionError, match="why"):
        await turn


async def test_a_block_ends_the_turns_of_those_who_dont_wait_for_it() -> None:
    backlog = Backlog(1)
    backlog.room -= 1
    hasty, turn = join(backlog, 1)
    patient, other = join(backlog, 1, Terms())
    await every_chance()
    backlog.refuse("low on memory")
    assert await turn is False
    assert (hasty.blocked, patient.blocked) == ("low on memory", None)
    assert not other.done()
    backlog.take(1)
    assert await other
