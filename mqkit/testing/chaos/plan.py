"""The faults of a seed, one after the other. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

PAUSE_S = (0.2, 3.0)
"""Seconds between the end of a fault and the next one: a client that reconnects in a moment gets
its work done, and one that waits for long has more than one fault in a minute."""

LENGTH_S = (0.2, 4.0)
"""Seconds that a fault lasts which does."""


class Fault(StrEnum):
    """The faults of a link, by what is told of them."""

    CUT = "every connection is reset"
    LOST_CONFIRM = "the next confirm is withheld, and its connection reset"
    STALL = "nothing passes"
    REFUSE = "every connection is reset, and new ones are closed at once"
    BLOCK = "connection.blocked"


LASTING = frozenset({Fault.STALL, Fault.REFUSE, Fault.BLOCK})
"""Those that last; the others happen."""


@dataclass(frozen=True, slots=True)
class Step:
    """A fault that comes ``after_s`` seconds after the end of the one before it, and lasts
    ``length_s``."""

    after_s: float
    fault: Fault
    length_s: float


def plan(seed: int) -> Iterator[Step]:
    """The steps of ``seed``, without end. Each fault comes once in every five."""
    source = random.Random(seed)
    faults = list(Fault)
    while True:
        source.shuffle(faults)
        for fault in faults:
            after_s = source.uniform(*PAUSE_S)
            length_s = source.uniform(*LENGTH_S)
            yield Step(after_s, fault, length_s if fault in LASTING else 0.0)
