"""Rounds on one broker: a direction at a time, each contestant in turn, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mqkit_bench.spark.contestant import SparkContestant
from mqkit_bench.spark.processes import cpu_seconds
from mqkit_bench.spark.stage import Direction, Stage

FIRST_ROWS = 2_000
GROWTH = 5
WARM_SECONDS = 5.0
"""A warm-up play that took so long says what the rate will be."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One play. ``python_cpu_s`` is that of Spark's workers, or of the raw writers; ``None`` where
    it is not known."""

    rows: int
    seconds: float
    broker_cpu_s: float
    jvm_cpu_s: float
    python_cpu_s: float | None

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


@dataclass(frozen=True, slots=True)
class SparkStanding:
    """The rounds of one contestant on one broker, in order."""

    broker: str
    direction: Direction
    name: str
    target: float | None
    """The least that mqkit's rate should be of this one's."""
    rounds: list[Measured] = field(default_factory=list)


def compete(
    stage: Stage,
    broker: str,
    contestants: Sequence[SparkContestant],
    rounds: int,
    seconds: float,
    say: Callable[[str], None],
) -> list[SparkStanding]:
    """Play all contestants of a direction in turn, then those of the other. One that does not play
    all rows gets as many as it moved in ``seconds`` when it was warmed up.

    Raises :exc:`~mqkit_bench.report.Discrepancy`, and what the plays raise.
    """
    standings: list[SparkStanding] = []
    for direction in Direction:
        playing = [each for each in contestants if each.direction is direction]
        shares = [_share(stage, each, seconds, say) for each in playing]
        here = [
            SparkStanding(stage.broker.name, direction, each.name, each.targets.get(broker))
            for each in playing
        ]
        for number in range(rounds):
            for contestant, rows, standing in zip(playing, shares, here, strict=True):
                measured = play(stage, contestant, rows)
                standing.rounds.append(measured)
                say(
                    f"round {number + 1}: {stage.broker.name}: {direction}: {contestant.name}:"
                    f" {rows:,} rows in {measured.seconds:.1f} s, {measured.rate:,.0f} rows/s"
                )
        standings += here
    return standings


def play(stage: Stage, contestant: SparkContestant, rows: int) -> Measured:
    """One play, with all that it cost."""
    with stage.set(contestant.direction, rows):
        broker_before, before = stage.broker.cpu_s(), cpu_seconds()
        seconds, others_cpu_s = contestant.play(stage, rows)
        after, broker_after = cpu_seconds(), stage.broker.cpu_s()
    python_s = after.python_since(before)
    return Measured(
        rows,
        seconds,
        broker_after - broker_before,
        after.jvm - before.jvm,
        None if python_s is None else python_s + others_cpu_s,
    )


def _share(
    stage: Stage, contestant: SparkContestant, seconds: float, say: Callable[[str], None]
) -> int:
    """Warm the contestant up; returns how many rows it gets in a round."""
    rows, most = min(FIRST_ROWS, stage.rows.count), stage.rows.count
    play(stage, contestant, rows)  # with the start of workers in it, which says nothing
    while True:
        measured = play(stage, contestant, rows)
        if measured.seconds >= WARM_SECONDS or rows == most:
            break
        rows = min(most, rows * GROWTH)
    share = most if contestant.plays_all else min(most, max(1, int(measured.rate * seconds)))
    say(
        f"warm-up: {stage.broker.name}: {contestant.direction}: {contestant.name}:"
        f" {measured.rate:,.0f} rows/s, so it gets {share:,} rows"
    )
    return share
