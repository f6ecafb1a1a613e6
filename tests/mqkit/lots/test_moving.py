"""A lot's messages moved to another queue, against both brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots.choice import Choice
from mqkit.lots.moving import MoveReport, move
from mqkit.lots.sending import WINDOW
from mqkit.lots.where import parse

pytestmark = pytest.mark.anyio

NUMBERS = [b"%d" % number for number in range(7)]


async def test_only_the_chosen_go_and_in_order(yard: Any) -> None:
    await yard.publish(yard.lot, *NUMBERS)
    report = await move(yard.link, yard.lot, yard.name, Choice(where=parse("body >= 2"), limit=3))
    assert (report.moved, report.stopped, report.to) == (3, "", yard.name)
    assert await yard.bodies(yard.name) == NUMBERS[2:5]
    assert await yard.bodies(yard.lot) == [*NUMBERS[:2], *NUMBERS[5:]]


async def test_asked_to_stop_it_ends_between_two_windows(yard: Any) -> None:
    numbers = [b"%d" % number for number in range(WINDOW + 5)]
    await yard.publish(yard.lot, *numbers)
    seen: list[MoveReport] = []
    report = await move(
        yard.link,
        yard.lot,
        yard.name,
        Choice(),
        stopping=lambda: len(seen) == 1,
        on_progress=seen.append,
    )
    assert (report.moved, report.stopped) == (WINDOW, "asked to stop")
    again = await move(yard.link, yard.lot, yard.name, Choice())
    assert (again.moved, again.stopped) == (5, "")
    assert await yard.bodies(yard.name) == numbers


async def test_what_the_other_queue_refuses_stays(yard: Any, unique: Callable[[str], str]) -> None:
    full = unique("full")
    await yard.declare(full, max_length=2, overflow="reject-publish")
    await yard.publish(yard.lot, *NUMBERS)
    report = await move(yard.link, yard.lot, full, Choice())
    assert (report.moved, "was not confirmed" in report.stopped) == (2, True)
    assert await yard.bodies(full) == NUMBERS[:2]
    assert await yard.bodies(yard.lot) == NUMBERS[2:]


async def test_what_is_refused_before_anything_moves(yard: Any) -> None:
    await yard.publish(yard.lot, b"x")
    for lot, to, words in (
        (yard.lot, yard.lot, "into itself"),
        (yard.lot, f"{yard.name}.nobody", "there is no queue"),
        (yard.name, yard.lot, "not a parking lot"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            await move(yard.link, lot, to, Choice())
    assert await yard.bodies(yard.lot) == [b"x"]
