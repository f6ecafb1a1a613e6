"""The seconds that the process did not get."""

from __future__ import annotations

import pytest

from interop.chaos.checker.starvation import Starvation


@pytest.mark.parametrize(
    ("begin", "end", "lost"),
    [(0, 10, 3), (0, 1, 0), (1.5, 10, 2.5), (1.5, 1.75, 0.25), (2, 4, 0), (4.5, 5, 0.5), (7, 9, 0)],
)
def test_what_is_lost_within_a_time(begin: float, end: float, lost: float) -> None:
    starvation = Starvation()
    starvation.add(1.0, 2.0)
    starvation.add(4.0, 6.0)
    assert starvation.within(begin, end) == pytest.approx(lost)
    assert starvation.total_s == 3.0
