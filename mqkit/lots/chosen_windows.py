"""The chosen messages of a lot, a window at a time, whatever the choice: all that fit, the first so
many, or a sample."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import datetime

from mqkit.lots.choice import Choice, Reservoir
from mqkit.lots.reading import LotReader, Window
from mqkit.message import Delivery


async def chosen_windows(
    reader: LotReader,
    choice: Choice,
    now: datetime,
    bounds: Window,
    also: Callable[[Delivery], bool] = lambda delivery: True,
) -> AsyncIterator[list[Delivery]]:
    """Windows of the messages that ``choice`` takes and ``also`` is true for, in the order of the
    lot. A window has been settled, or is to be left, when the next one is asked for."""
    if choice.sample is not None:
        async for window in _sample(reader, choice, now, bounds, also):
            yield window
        return
    left = choice.limit
    matches = choice.at(reader.lot, now)

    def fits(delivery: Delivery) -> bool:
        return matches(delivery) and also(delivery)

    while left is None or left > 0:
        most = bounds if left is None else replace(bounds, messages=min(bounds.messages, left))
        window = await reader.window(fits, most)
        if not window:
            return
        if left is not None:
            left -= len(window)
        yield window


async def _sample(
    reader: LotReader,
    choice: Choice,
    now: datetime,
    bounds: Window,
    also: Callable[[Delivery], bool],
) -> AsyncIterator[list[Delivery]]:
    """The whole lot is read first."""
    assert choice.sample is not None
    reservoir = Reservoir(choice.sample, choice.seed)
    fits = choice.at(reader.lot, now)
    await reader.window(
        lambda delivery: fits(delivery) and also(delivery) and reservoir.offer(delivery), bounds
    )
    kept = reservoir.kept[: choice.limit]
    for start in range(0, len(kept), bounds.messages):
        yield kept[start : start + bounds.messages]
