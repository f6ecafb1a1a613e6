"""mqkit_bench.spark.table: mqkit's rate is compared round by round, within a broker."""

from __future__ import annotations

from mqkit_bench.spark.contestant import CONTESTANTS, OURS
from mqkit_bench.spark.rounds import Measured, SparkStanding
from mqkit_bench.spark.stage import Direction
from mqkit_bench.spark.table import multiples, table

SINK = Direction.SINK
OUR_NAME = OURS[SINK].name


def standing(broker: str, name: str, target: float | None, *seconds: float) -> SparkStanding:
    rounds = [Measured(1000, each, 0.002, 0.003, 0.004) for each in seconds]
    return SparkStanding(broker, SINK, name, target, rounds)


def test_ratios_are_of_rounds() -> None:
    ours = standing("b", OUR_NAME, None, 1, 2, 4)
    theirs = standing("b", "slow", 30, 10, 10, 10)
    assert multiples(ours, theirs) == [10, 5, 2.5]
    text = table([ours, theirs, standing("other", "slow", None, 10)])
    first, second, third = text.splitlines()[2:]
    assert "| 500 (250-1,000) | - | - | 2.0 us | 3.0 us | 4.0 us |" in first
    assert "| 5.00x (2.50-10.00) | 30x |" in second
    assert "| 100 (100-100) | - | - |" in third


def test_what_is_not_known_is_not_told() -> None:
    played = [Measured(1000, 1, 0.002, 0.003, known) for known in (None, 0.004, None)]
    assert table([SparkStanding("b", SINK, "x", None, played)]).endswith("| 4.0 us |")
    assert table([SparkStanding("b", SINK, "x", None, played[:1])]).endswith("| not told |")


def test_there_is_a_contestant_to_compare_with_in_each_direction() -> None:
    assert {each.direction for each in CONTESTANTS} == set(OURS)
    assert all(each in CONTESTANTS for each in OURS.values())
