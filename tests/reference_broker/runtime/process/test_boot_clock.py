"""The clock that goes on while the machine sleeps."""

from __future__ import annotations

import time

from reference_broker.runtime.process.boot_clock import boot_clock


def test_it_goes_on_and_never_lags_behind_the_monotonic_clock() -> None:
    before = time.monotonic()
    first, second = boot_clock(), boot_clock()
    assert before <= first <= second
