"""The switch interval is short while it is asked to be, and then as it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from reference_broker.runtime.process.switch_interval import SHORT_S, SwitchInterval


@pytest.fixture(autouse=True)
def usual() -> Iterator[float]:
    before_s = sys.getswitchinterval()
    yield before_s
    sys.setswitchinterval(before_s)


def test_it_is_short_while_it_is_wanted_and_then_as_it_was(usual: float) -> None:
    interval = SwitchInterval()
    for _ in range(2):
        interval.give_way(True)
    assert sys.getswitchinterval() == pytest.approx(SHORT_S)
    for _ in range(2):
        interval.give_way(False)
    assert sys.getswitchinterval() == pytest.approx(usual)
