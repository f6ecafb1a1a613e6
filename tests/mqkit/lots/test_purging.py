"""Emptying a parking lot, and nothing else, against both brokers."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots import purge

pytestmark = pytest.mark.anyio


async def test_a_lot_is_emptied_and_nothing_else(yard: Any) -> None:
    await yard.publish(yard.lot, b"1", b"2", b"3")
    await yard.publish(yard.name, b"at work")
    with pytest.raises(ConfigurationError, match="not a parking lot"):
        await purge(yard.link, yard.name)
    assert (await purge(yard.link, yard.lot), await purge(yard.link, yard.lot)) == (3, 0)
    assert await yard.bodies(yard.lot) == []
    assert await yard.bodies(yard.name) == [b"at work"]


async def test_a_lot_that_is_not_there(yard: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"no queue 'nowhere\.parked'"):
        await purge(yard.link, "nowhere.parked")
