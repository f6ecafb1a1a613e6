"""The plan of a run: which fault, for how long, to what, after which pause. Pure; the same seed
gives the same faults."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from interop.chaos.layout import ASK, HEARTBEAT_S, WORK, lot_of, tiers_of


class Kind(StrEnum):
    """The faults that there are."""

    CUT = "cut"
    """Every connection is reset."""
    OUTAGE = "outage"
    """Every connection is reset, and new ones are refused for a while."""
    HALF_CLOSED_TO_CLIENT = "half-closed to the client"
    """The client reads the end of the stream, and can still write."""
    HALF_CLOSED_TO_BROKER = "half-closed to the broker"
    """The broker reads the end of the stream, and can still write."""
    STALL = "stall"
    """The connections that there are carry nothing, for longer than heartbeats allow."""
    SHORT_STALL = "short stall"
    STALL_TO_CLIENT = "stall to the client"
    STALL_TO_BROKER = "stall to the broker"
    """One way only, for as long."""
    TRICKLE = "trickle"
    """The connections that there are carry a few octets at a time."""
    HELD_CONFIRMS = "held confirms"
    """Nothing reaches the client on the publishing connection, past deadlines of publishes."""
    KILL = "kill -9"
    TERM = "SIGTERM"
    """The broker is killed, or ended, and started again on its data."""
    CLOSE_ALL = "close all connections"
    """By the management API."""
    DELETE_QUEUE = "delete queue"
    DELETE_TIER = "delete tier"
    DELETE_LOT = "delete lot"
    REDECLARE = "redeclare otherwise"
    """A queue is deleted and declared with other arguments: the app's own declaration of it is
    refused (406) until the queue is deleted again."""
    MEMORY_ALARM = "memory alarm"
    DISK_ALARM = "disk alarm"


HEARTBEAT_KINDS = frozenset(
    {Kind.HALF_CLOSED_TO_BROKER, Kind.STALL, Kind.STALL_TO_CLIENT, Kind.STALL_TO_BROKER}
)
"""Only a missing heartbeat can tell of these."""

DURATIONS_S: dict[Kind, tuple[float, float]] = {
    Kind.OUTAGE: (0.5, 4.0),
    Kind.STALL: (3.5 * HEARTBEAT_S, 4.5 * HEARTBEAT_S),
    Kind.STALL_TO_CLIENT: (3.5 * HEARTBEAT_S, 4.5 * HEARTBEAT_S),
    Kind.STALL_TO_BROKER: (4.5 * HEARTBEAT_S, 5.5 * HEARTBEAT_S),
    Kind.HALF_CLOSED_TO_BROKER: (3.5 * HEARTBEAT_S, 4.0 * HEARTBEAT_S),
    Kind.SHORT_STALL: (0.3, 1.5),
    Kind.TRICKLE: (1.0, 4.0),
    Kind.HELD_CONFIRMS: (1.0, 3.0),
    Kind.REDECLARE: (1.0, 3.0),
    Kind.MEMORY_ALARM: (1.0, 4.0),
    Kind.DISK_ALARM: (1.0, 4.0),
}
"""For how long a fault is held, from and to; one that is not here is over when it is done."""

PAUSE_S = (3.5, 6.0)
"""Between the end of a fault and the next: longer than what an app may take to go on."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. It begins ``pause_s`` after the end of the one before. ``queue`` is deleted or
    declared otherwise by the kinds that do such a thing, and belongs to the queue ``owner``."""

    kind: Kind
    pause_s: float
    lasts_s: float = 0.0
    queue: str = ""
    owner: str = ""


def faults(seed: int, kinds: Sequence[Kind] = tuple(Kind)) -> Iterator[Fault]:
    """Faults without end: each of ``kinds`` once in an order by chance, then again in another."""
    chance = random.Random(seed)
    while True:
        for kind in chance.sample(kinds, len(kinds)):
            yield _fault(kind, chance)


def _fault(kind: Kind, chance: random.Random) -> Fault:
    pause_s = round(chance.uniform(*PAUSE_S), 3)
    lasts_s = round(chance.uniform(*DURATIONS_S[kind]), 3) if kind in DURATIONS_S else 0.0
    choose = _TARGETS.get(kind)
    if choose is None:
        return Fault(kind, pause_s, lasts_s)
    owner = chance.choice((*WORK, ASK))
    return Fault(kind, pause_s, lasts_s, choose(owner, chance), owner)


def _itself(owner: str, _: random.Random) -> str:
    return owner


def _tier(owner: str, chance: random.Random) -> str:
    return chance.choice(tiers_of(owner))


def _lot(owner: str, _: random.Random) -> str:
    return lot_of(owner)


def _any_of_it(owner: str, chance: random.Random) -> str:
    return chance.choice((owner, *tiers_of(owner), lot_of(owner)))


_TARGETS: dict[Kind, Callable[[str, random.Random], str]] = {
    Kind.DELETE_QUEUE: _itself,
    Kind.DELETE_TIER: _tier,
    Kind.DELETE_LOT: _lot,
    Kind.REDECLARE: _any_of_it,
}
