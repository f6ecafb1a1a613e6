"""The contestants, in each direction, with the ratios that they are held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mqkit_bench.spark import sinks, sources
from mqkit_bench.spark.stage import Direction, Stage

Play: TypeAlias = Callable[[Stage, int], tuple[float, float]]
"""Moves so many rows; returns the seconds, and the CPU seconds of processes that are not
Spark's."""

REFERENCE, RABBITMQ = "reference", "rabbitmq"
"""The brokers, as ``--broker``."""


@dataclass(frozen=True, slots=True)
class SparkContestant:
    """One way to move the rows."""

    name: str
    direction: Direction
    play: Play
    plays_all: bool = False
    """It moves all rows however long that takes; another, as many as it does in a time."""
    targets: Mapping[str, float] = field(default_factory=dict)
    """The least that mqkit's rate should be of this one's, by broker."""


OURS = {
    Direction.SINK: SparkContestant(
        'mqkit: df.write.format("amqp")', Direction.SINK, sinks.mqkit, plays_all=True
    ),
    Direction.SOURCE: SparkContestant(
        "mqkit: stream source, spool", Direction.SOURCE, sources.mqkit_spool, plays_all=True
    ),
}
"""The contestant that the others are compared with, round by round."""

CONTESTANTS = (
    OURS[Direction.SINK],
    SparkContestant(
        "foreachPartition, pika, a confirm each",
        Direction.SINK,
        sinks.pika_confirmed,
        targets={REFERENCE: 30, RABBITMQ: 20},
    ),
    SparkContestant(
        "foreachPartition, pika, no confirms",
        Direction.SINK,
        sinks.pika_unconfirmed,
        targets={REFERENCE: 6, RABBITMQ: 3},
    ),
    SparkContestant(
        "raw sockets, pre-encoded, no Spark",
        Direction.SINK,
        sinks.raw_sockets,
        plays_all=True,
        targets={REFERENCE: 0.5},
    ),
    OURS[Direction.SOURCE],
    SparkContestant(
        "foreachPartition, pika, an ack per 1,000",
        Direction.SOURCE,
        sources.pika_multiple_acks,
        targets={REFERENCE: 4},
    ),
)
