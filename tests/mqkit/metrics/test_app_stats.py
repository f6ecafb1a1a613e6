"""``app.stats``: sums of now, in an object that can be kept."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from mqkit.consumer.stats import COUNTERS, Stats
from mqkit.metrics.app_stats import AppStats


def test_it_has_the_sums_of_now() -> None:
    one, other = Stats(acked=1, parked=2), Stats(acked=10)
    stats = AppStats(lambda: (one, other))
    assert (stats.acked, stats.parked, stats.retried) == (11, 2, 0)
    one.acked += 1
    assert stats.acked == 12


@pytest.mark.parametrize("name", COUNTERS)
def test_each_counter_is_added_up(name: str) -> None:
    parts = Stats(**{name: 1}), Stats(**{name: 2})
    assert getattr(AppStats(lambda: parts), name) == 3


def test_it_is_as_good_as_other_stats() -> None:
    stats = AppStats(lambda: (Stats(acked=1), Stats(delivered=1)))
    assert stats == Stats(delivered=1, acked=1)
    assert stats != Stats()
    assert asdict(stats) == asdict(Stats(delivered=1, acked=1))
    assert repr(stats).startswith("AppStats(delivered=1, acked=1,")
    assert stats.unsettled == 0


def test_nobody_counts_in_it() -> None:
    stats = AppStats(lambda: (Stats(),))
    with pytest.raises(AttributeError):
        stats.acked += 1
