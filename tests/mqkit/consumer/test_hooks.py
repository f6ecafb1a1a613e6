"""Hooks of a queue: told before anything happens, and what a hook that raises does."""

from __future__ import annotations

import pytest

from mqkit.consumer.hooks import Fate, Hooks, fate_of
from mqkit.consumer.settlement import (
    HANDLED,
    DeadLetter,
    Destination,
    Discard,
    Republish,
    Requeue,
    Settlement,
)
from mqkit.errors import ConfigurationError
from mqkit.message import Delivery, Message, Properties

pytestmark = pytest.mark.anyio

DELIVERY = Delivery("", "q", b"secret", Properties(message_id="m"), 1, False)
COPY = Message("", "q.retry.1s", b"")
ERROR = ValueError("no")

FATES: list[tuple[Settlement, Fate | None]] = [
    (Republish(Destination.TIER, COPY), Fate.RETRY),
    (Requeue("no policy"), Fate.RETRY),
    (Republish(Destination.PARKING_LOT, COPY), Fate.PARK),
    (DeadLetter("no lot"), Fate.PARK),
    (Discard("dropped"), Fate.DROP),
    (HANDLED, None),
]


@pytest.mark.parametrize(("settlement", "fate"), FATES)
async def test_each_fate_has_its_hook(settlement: Settlement, fate: Fate | None) -> None:
    assert fate_of(settlement) is fate
    told: list[tuple[Fate, Delivery, BaseException]] = []
    hooks = Hooks("q")
    for each in Fate:
        hooks.set(each, lambda *about, each=each: told.append((each, *about)))
    assert await hooks.tell(DELIVERY, ERROR, settlement) is settlement
    assert told == ([] if fate is None else [(fate, DELIVERY, ERROR)])


async def test_without_a_hook_nothing_changes() -> None:
    for settlement, _ in FATES:
        assert await Hooks("q").tell(DELIVERY, ERROR, settlement) is settlement


async def test_a_hook_that_raises_has_the_delivery_given_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails(delivery: Delivery, error: BaseException) -> None:
        raise OSError("the database is down")

    hooks = Hooks("q")
    hooks.set(Fate.PARK, fails)
    settlement = await hooks.tell(DELIVERY, ERROR, Republish(Destination.PARKING_LOT, COPY))
    assert settlement == Requeue("on_park raised OSError")
    assert "the database is down" in caplog.text
    assert "secret" not in caplog.text


def test_one_function_for_each() -> None:
    hooks = Hooks("q")
    hooks.set(Fate.DROP, lambda delivery, error: None)
    with pytest.raises(ConfigurationError, match="on_drop already"):
        hooks.set(Fate.DROP, lambda delivery, error: None)
