"""The parking lots of a broker, with their counts, against both brokers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.errors import ConnectionRefused
from mqkit.lots import ParkingLot, ls
from mqkit.retry.known_lots import KnownLots
from mqkit.transport.seam import Credentials

pytestmark = pytest.mark.anyio


async def test_lots_are_counted_and_those_that_are_missing_named(yard: Any) -> None:
    await yard.publish(yard.lot, b"1", b"2")
    found = await ls(yard.link, [yard.lot, yard.name, "nowhere.parked", yard.lot])
    assert set(found) == {
        ParkingLot(yard.lot, yard.name, 2, 0),
        ParkingLot("nowhere.parked", "nowhere", 0, 0, exists=False),
    }
    assert [lot.name for lot in found] == sorted(lot.name for lot in found)


async def test_a_lot_is_what_somebody_says(yard: Any) -> None:
    link = replace(yard.link, known=KnownLots({yard.name: None}))
    assert await ls(link, [yard.name]) == (ParkingLot(yard.name, "", 0, 0),)


async def test_a_wrong_password_is_an_error_and_not_shown(yard: Any) -> None:
    endpoint = replace(yard.link.endpoint, credentials=Credentials("guest", "sesame"))
    with pytest.raises(ConnectionRefused) as refused:
        await ls(replace(yard.link, endpoint=endpoint), ["a.parked"])
    assert "sesame" not in str(refused.value)
