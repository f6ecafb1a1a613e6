"""mqkit_bench.client.meter: what is between begin and end, and nothing else."""

from __future__ import annotations

import pytest

from mqkit_bench.client.meter import Measured, Meter


def test_figures_are_per_message() -> None:
    measured = Measured(messages=500, seconds=0.25, cpu_s=0.01, peak_rss_mib=30.0)
    assert measured.rate == 2000
    assert measured.cpu_us == 20


def test_what_was_begun_and_ended_is_measured() -> None:
    meter = Meter()
    meter.begin()
    meter.end()
    measured = meter.measured(7)
    assert measured.messages == 7
    assert measured.cpu_s >= 0
    assert measured.seconds > 0
    assert measured.peak_rss_mib > 1


@pytest.mark.parametrize("began", [False, True])
def test_a_play_that_forgot_the_meter_is_an_error(began: bool) -> None:
    meter = Meter()
    if began:
        meter.begin()
    with pytest.raises(RuntimeError, match="not begun and ended"):
        meter.measured(1)
