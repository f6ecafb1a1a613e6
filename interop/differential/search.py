"""Looks for a sequence on which two brokers differ, and makes it as short as it can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as with_seed

from interop.differential.features import PRESENT, Feature
from interop.differential.lockstep import SHORT_SETTLE_S, Difference, Lockstep
from interop.differential.on_purpose import reason_for
from interop.differential.operation import Sequence
from interop.differential.sequences import sequences
from interop.differential.shortening import shortened

CONFIRMATIONS = 3
"""A difference counts when it shows this many times in a row: some of what RabbitMQ does is a race
between its processes, and then either outcome is right."""


@dataclass(slots=True)
class Tally:
    """The counts of a search. ``on_purpose`` counts the sequences that ended at each known
    difference, ``races`` those whose difference did not show again, ``differed`` those that were
    raised."""

    compared: int = 0
    races: int = 0
    differed: int = 0
    on_purpose: Counter[str] = field(default_factory=Counter)

    @property
    def alike(self) -> int:
        """The sequences that had the same results on both to their end."""
        return self.compared - self.differed - self.on_purpose.total()


class Differs(Exception):
    """A sequence has different results on the two brokers. ``tally`` is what was done until then,
    that sequence included."""

    def __init__(self, sequence: Sequence, difference: Difference, tally: Tally) -> None:
        super().__init__(f"{sequence}\n{difference}")
        self.sequence = sequence
        self.difference = difference
        self.tally = tally


def compare(lockstep: Lockstep, sequence: Sequence, tally: Tally) -> None:
    """Run the sequence on both. Raises :exc:`Differs` for a difference that is not on purpose,
    with the shortest sequence that shows one."""
    tally.compared += 1
    difference = lockstep.run(sequence)
    if difference is None:
        return
    known = reason_for(difference, sequence)
    if known is not None:
        tally.on_purpose[known.name] += 1
    elif confirmed(lockstep, sequence, CONFIRMATIONS - 1) is None:
        tally.races += 1
    else:
        # What comes after the difference has no part in it.
        sequence = replace(sequence, operations=sequence.operations[: difference.number + 1])
        shortest = shortened(sequence, lambda shorter: _differs_soon(lockstep, shorter))
        tally.differed += 1
        raise Differs(shortest, confirmed(lockstep, shortest, 1) or difference, tally)


def confirmed(lockstep: Lockstep, sequence: Sequence, times: int) -> Difference | None:
    """The difference, if it shows this many times in a row and is not on purpose."""
    difference = None
    for _ in range(times):
        difference = lockstep.run(sequence)
        if difference is None or reason_for(difference, sequence) is not None:
            return None
    return difference


def _differs_soon(lockstep: Lockstep, sequence: Sequence) -> bool:
    difference = lockstep.run(sequence, SHORT_SETTLE_S)
    return difference is not None and reason_for(difference, sequence) is None


def search(
    lockstep: Lockstep,
    count: int,
    seed: int,
    *,
    features: Collection[Feature] = PRESENT,
    progress: Callable[[Tally], object] = lambda tally: None,
) -> Tally:
    """Compare ``count`` generated sequences; the same ones for the same seed.

    Raises :exc:`Differs` for the first that differs.
    """
    tally = Tally()
    found: list[Differs] = []

    # It is a generator of sequences here: what fails is shortened by us, and never run again.
    @with_seed(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences(features))
    def one(sequence: Sequence) -> None:
        if found:
            return
        try:
            compare(lockstep, sequence, tally)
        except Differs as difference:
            found.append(difference)
        progress(tally)

    one()
    if found:
        raise found[0]
    return tally
