"""The counters of a consumer: which of them are ends, and what is left."""

from __future__ import annotations

import pytest

from mqkit.consumer.stats import COUNTERS, ENDS, Stats, sum_of


@pytest.mark.parametrize("end", ENDS)
def test_a_delivery_that_has_ended_is_not_unsettled(end: str) -> None:
    assert Stats(delivered=3, **{end: 1}).unsettled == 2


@pytest.mark.parametrize("name", sorted(set(COUNTERS) - {*ENDS, "delivered"}))
def test_other_counters_end_nothing(name: str) -> None:
    assert Stats(delivered=3, **{name: 1}).unsettled == 3


def test_a_sum_is_of_its_own() -> None:
    one = Stats(delivered=2, acked=1)
    total = sum_of((one, Stats(delivered=1, misfits=1)))
    one.acked += 5
    assert total == Stats(delivered=3, acked=1, misfits=1)
    assert sum_of(()) == Stats()
