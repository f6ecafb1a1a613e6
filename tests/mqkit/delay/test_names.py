"""Names of what delays add, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.delay.names import delay_name, owner_of_delay
from mqkit.retry.duration import MAX_DURATION_MS


def test_the_name() -> None:
    assert delay_name("orders", 300_000) == "orders.delay.5m"


@given(st.text(min_size=1), st.integers(0, MAX_DURATION_MS))
def test_a_name_leads_back_to_its_exchange(exchange: str, delay_ms: int) -> None:
    assert owner_of_delay(delay_name(exchange, delay_ms)) == (exchange, delay_ms)


@pytest.mark.parametrize(
    "name", ["orders", "orders.delay.", ".delay.5m", "orders.delay.300s", "orders.delay.soon"]
)
def test_other_names_are_no_delays(name: str) -> None:
    assert owner_of_delay(name) is None
