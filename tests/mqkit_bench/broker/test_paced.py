"""mqkit_bench.broker.paced: what is due when, and how late it was."""

from __future__ import annotations

from contextlib import closing

import pytest

from mqkit_bench.broker import catalogue
from mqkit_bench.broker.paced import Arrivals, Schedule, run_paced
from mqkit_bench.broker.relay import relay_stage
from mqkit_bench.broker.stage import stage
from mqkit_bench.contestant import Contestant
from mqkit_bench.session import Session


@pytest.mark.parametrize(
    ("rate", "burst", "tick_s"), [(100, 1, 0.01), (1_000, 1, 0.001), (50_000, 25, 0.0005)]
)
def test_messages_are_due_in_bursts(rate: float, burst: int, tick_s: float) -> None:
    schedule = Schedule(rate, 1_000)
    assert schedule.burst == burst
    assert schedule.tick_s == pytest.approx(tick_s)
    assert schedule.due(0.0) == burst
    assert schedule.due(2.5 * tick_s) == 3 * burst
    assert schedule.due(1e6) == 1_000
    assert schedule.due_s(burst) == pytest.approx(tick_s)
    assert schedule.end_s == pytest.approx(1_000 / rate)


def test_a_delay_counts_from_when_a_message_was_due() -> None:
    """The broker took nothing for a second: what was due meanwhile is late by its own wait."""
    schedule = Schedule(10, 10)
    arrivals = Arrivals()
    arrivals.note(1, 0.01)
    arrivals.note(1, 0.02)
    arrivals.note(10, 1.0)
    delays = arrivals.delays_s(schedule)
    assert delays == pytest.approx([0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


def test_every_message_has_a_delay(contestant: Contestant) -> None:
    schedule = Schedule(2_000, 200)
    with stage(contestant, catalogue.persistent(100)) as staged:
        for _ in range(2):
            run = run_paced(staged.traffic, schedule)
            assert run.sent <= 200
            if run.is_held:
                assert len(run.confirms.delays_s(schedule)) == 200
                assert len(run.deliveries.delays_s(schedule)) == 200
                assert min(run.confirms.delays_s(schedule)) > 0
        assert staged.traffic.acked == staged.traffic.sent


def test_a_rate_beyond_all_means_is_not_held() -> None:
    """Messages that were begun are ended and settled all the same, so that the next round starts
    clean."""
    schedule = Schedule(50_000_000, 2_500_000)
    with relay_stage(catalogue.persistent(1_024)) as staged:
        run = run_paced(staged.traffic, schedule)
        assert not run.is_held
        assert 0 < run.sent < schedule.messages
        assert run.rate < schedule.rate
        assert staged.traffic.acked == run.sent


def test_nothing_is_kept_for_the_next_run(contestant: Contestant) -> None:
    scenario = catalogue.persistent(10)
    with stage(contestant, scenario) as staged, closing(Session(contestant.address)) as session:
        run_paced(staged.traffic, Schedule(1_000, 20))
        assert scenario.topology.ready(session) == 0
