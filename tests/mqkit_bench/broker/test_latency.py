"""mqkit_bench.broker.latency: quantiles, and rates that were not held."""

from __future__ import annotations

from mqkit_bench.broker import catalogue
from mqkit_bench.broker.entrant import RELAY, Entrant
from mqkit_bench.broker.latency import HEADER, Delays, Round, Standing, measure, table
from mqkit_bench.broker.paced import Arrivals, Schedule


def test_quantiles_are_in_milliseconds() -> None:
    arrivals = Arrivals()
    for number in range(1_001):
        arrivals.note(number + 1, number / 1000 + (number + 1) / 1000)
    delays = Delays.of(arrivals, Schedule(1_000, 1_001))
    assert [round(ms) for ms in (delays.p50, delays.p99, delays.p999)] == [501, 991, 1_000]


def test_each_rate_is_tried_in_turns(reference: Entrant) -> None:
    standings = measure([reference, RELAY], catalogue.persistent(16), 500, 2, 0.05)
    assert [each.name for each in standings] == [reference.name, RELAY.name]
    for standing in standings:
        assert (standing.wanted_rate, len(standing.rounds)) == (500, 2)
        assert all(each.rate > 0 for each in standing.rounds)


def test_the_table_says_what_was_not_held() -> None:
    fine = Round(1_000, Delays(1, 2, 3), Delays(0.5, 1, 2), 20.0, 0.1)
    slow = Round(600, None, None, None, 0.2)
    standings = [
        Standing("persistent", 1_000, "a", "fsync", (fine, fine)),
        Standing("persistent", 1_000, "b", "fsync", (slow, slow)),
        Standing("persistent", 1_000, "c", "fsync", (fine, slow, slow)),
    ]
    lines = table(standings).splitlines()
    assert {line.count("|") for line in lines} == {len(HEADER) + 1}
    assert "| a | yes | 1.00 / 2.00 / 3.00 ms (2.00-2.00) |" in lines[2]
    assert "| b | in 0 of 2 rounds (600/s) | not held | not held | - |" in lines[3]
    assert "| c | in 1 of 3 rounds (600/s) | 1.00 / 2.00" in lines[4]
