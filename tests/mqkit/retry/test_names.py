"""Names of tiers and parking lots, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.retry.duration import MAX_DURATION_MS
from mqkit.retry.names import (
    is_parking_lot,
    owner_of_parking_lot,
    owner_of_tier,
    parking_lot_name,
    tier_name,
)


def test_the_names() -> None:
    assert tier_name("delays", 5_000) == "delays.retry.5s"
    assert parking_lot_name("delays") == "delays.parked"


@given(st.text(min_size=1), st.integers(0, MAX_DURATION_MS))
def test_a_name_leads_back_to_its_queue(queue: str, after_ms: int) -> None:
    assert owner_of_tier(tier_name(queue, after_ms)) == (queue, after_ms)
    assert owner_of_parking_lot(parking_lot_name(queue)) == queue


@pytest.mark.parametrize(
    "name", ["delays", "delays.retry.", ".retry.5s", "delays.retry.60s", "delays.retry.soon"]
)
def test_other_names_are_no_tiers(name: str) -> None:
    assert owner_of_tier(name) is None


@pytest.mark.parametrize("name", ["delays", ".parked", "parked", "delays.parked.old"])
def test_other_names_are_no_parking_lots(name: str) -> None:
    assert not is_parking_lot(name)
    assert owner_of_parking_lot(name) is None
