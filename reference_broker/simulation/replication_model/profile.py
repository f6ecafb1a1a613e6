"""Profiles of a run: the steps that are taken, and the rare ones that some broken rules need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from reference_broker.simulation.replication_model.rules import BrokenRule


class Step(Enum):
    """Everything that may happen next."""

    APPEND = auto()
    SEND = auto()
    DELIVER = auto()
    SYNC = auto()
    LEARN = auto()
    CARRY_OUT = auto()
    ANSWER = auto()
    LOSE_ANSWER = auto()
    STAND = auto()
    CHANGE_MEMBERS = auto()
    RESOLVE = auto()
    RESET_LINK = auto()
    STOP = auto()
    LOSE_DISK = auto()
    DROP_COPY = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Profile:
    """``weights`` are of the steps; ``grows`` is the chance that a leader who changes the set takes
    somebody in, rather than out.

    ``untimely`` is the chance that a replica loses its links and stands when it is worst: when it
    was taken in and the leader gets no answer, or when it is to be taken out.
    """

    name: str
    weights: Mapping[Step, int]
    grows: float = 0.5
    untimely: float = 0.0


MIXED = Profile(
    "mixed",
    {
        Step.APPEND: 320,
        Step.SEND: 360,
        Step.DELIVER: 440,
        Step.SYNC: 240,
        Step.LEARN: 80,
        Step.CARRY_OUT: 160,
        Step.ANSWER: 100,
        Step.LOSE_ANSWER: 50,
        Step.STAND: 50,
        Step.CHANGE_MEMBERS: 60,
        Step.RESOLVE: 50,
        Step.RESET_LINK: 20,
        Step.STOP: 10,
        Step.LOSE_DISK: 3,
        Step.DROP_COPY: 30,
        Step.NOTHING: 27,
    },
)


def _leaning(name: str, *, grows: float = 0.5, untimely: float = 0.0, **weights: int) -> Profile:
    """A profile that has other weights than :data:`MIXED` where they are given, by lower-case
    names."""
    others = {Step[step.upper()]: weight for step, weight in weights.items()}
    return Profile(name, {**MIXED.weights, **others}, grows, untimely)


POWER_FAILS = _leaning("power fails", stop=100, stand=150, carry_out=300, sync=160)

COPIES_DROPPED = _leaning(
    "copies dropped", grows=0.7, drop_copy=120, change_members=240, stand=100, carry_out=100
)

GROWTH_UNKNOWN = _leaning(
    "growth unknown", grows=0.7, untimely=0.9, change_members=240, carry_out=500, learn=30,
    stand=20, drop_copy=5, stop=5, reset_link=5, sync=400, deliver=700,
)  # fmt: skip
"""Somebody is taken in, the answer is lost, and there is an election soon after it."""

GROWTH_RESOLVED = replace(
    GROWTH_UNKNOWN,
    name="growth resolved",
    weights={**GROWTH_UNKNOWN.weights, Step.CARRY_OUT: 200, Step.RESOLVE: 400},
)
"""The same, and the leader has tried to find out before it was carried out."""

SHRINKING = replace(
    GROWTH_UNKNOWN,
    name="shrinking",
    weights={**GROWTH_UNKNOWN.weights, Step.CARRY_OUT: 160},
    grows=0.3,
)
"""Somebody is to be taken out, and stands before that is carried out."""

PROFILES = (
    MIXED, POWER_FAILS, COPIES_DROPPED, GROWTH_UNKNOWN, GROWTH_RESOLVED, SHRINKING,
)  # fmt: skip

LEANING_TO = {
    BrokenRule.ACK_FIRST: POWER_FAILS,
    BrokenRule.DROP_KEEPS_NUMBER: COPIES_DROPPED,
    BrokenRule.NO_COMPARE: GROWTH_UNKNOWN,
    BrokenRule.GROW_WHEN_ANSWERED: GROWTH_UNKNOWN,
    BrokenRule.BY_READING: GROWTH_RESOLVED,
    BrokenRule.SHRINK_WHEN_PROPOSED: SHRINKING,
}
"""The profile that finds a broken rule where the mixed one hardly does."""
