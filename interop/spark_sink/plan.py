"""The rounds of a run, by a seed. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from interop.spark_sink.rows import BATCHES_OF_PARTITION, PARTITIONS


class Kind(StrEnum):
    """The fault of a run."""

    FAILING_TASK = "failing-task"
    KILLED_WORKER = "killed-worker"
    SPECULATION = "speculation"
    KILLED_DRIVER = "killed-driver"


class Way(StrEnum):
    """The call that publishes."""

    PUBLISH = "publish"
    SAVE = "save"


class Ids(StrEnum):
    """The source of the message ids, as the option ``messageIds`` has it."""

    COLUMN = "column"
    AUTO = "auto"


WAYS = tuple((way, ids) for way in Way for ids in Ids)
FAULTY_MAX = 2
"""A machine has two cores at least, so that so many tasks run at a time."""


@dataclass(frozen=True, slots=True)
class Round:
    """One job. The first attempts of the ``faulty`` partitions meet the fault when they have given
    ``after`` batches to the sink."""

    number: int
    way: Way
    ids: Ids
    faulty: tuple[int, ...]
    after: int


def rounds(kind: Kind, count: int, seed: int) -> list[Round]:
    """The same for the same seed. Ways and ids come in turn, whatever the seed."""
    rng = random.Random(seed)
    # Of two slow tasks on two executors none is ever overtaken.
    faulty_max = 1 if kind is Kind.SPECULATION else FAULTY_MAX
    planned = []
    for number in range(count):
        way, ids = WAYS[(number + seed) % len(WAYS)]
        faulty = rng.sample(range(PARTITIONS), rng.randint(1, faulty_max))
        after = rng.randint(BATCHES_OF_PARTITION // 2, BATCHES_OF_PARTITION - 1)
        planned.append(Round(number, way, ids, tuple(sorted(faulty)), after))
    return planned
