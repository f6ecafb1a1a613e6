"""Profiles of etcd's faults: what strikes in a run, and what single requests and watches suffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from random import Random

TILTED_CHANCE = 0.5
"""Share of the seeds that have another profile than :data:`MIXED`."""


class EtcdFault(Enum):
    """The kinds of faults that strike at some time; single requests have chances of their own."""

    SILENT_CUT = "node cut off from etcd, silently"
    REFUSING_CUT = "node refused by etcd"
    UNAVAILABLE = "etcd unavailable"
    LEADER_CHANGE = "etcd's leader changed"
    NO_SPACE = "etcd out of space"
    LEASES_REVOKED = "all leases revoked"
    COMPACTION = "compaction"
    SILENT_WATCHES = "silent watches"
    WATCHES_LOST = "watches lost"


@dataclass(frozen=True, slots=True)
class EtcdProfile:
    """``weights`` are of the kinds that strike.

    ``answer_lost`` is the chance that a request was carried out and nobody is told; ``late`` that
    it is still under way when its outcome was told to be unknown, and carried out then;
    ``renewal_lost`` that a lease is not renewed this time; ``lagging`` that a watch is seconds
    behind from now on, for a while.
    """

    name: str
    weights: Mapping[EtcdFault, int]
    answer_lost: float = 0.02
    late: float = 0.02
    renewal_lost: float = 0.1
    lagging: float = 0.1


CALM = EtcdProfile("calm", {}, answer_lost=0, late=0, renewal_lost=0, lagging=0)

MIXED = EtcdProfile("mixed", dict.fromkeys(EtcdFault, 1))

TILTED = (
    replace(MIXED, name="outcomes in doubt", answer_lost=0.2, late=0.2),
    EtcdProfile(
        "leases end",
        {EtcdFault.LEASES_REVOKED: 3, EtcdFault.LEADER_CHANGE: 2, EtcdFault.SILENT_CUT: 2},
        renewal_lost=0.6,
    ),
    EtcdProfile(
        "views lag",
        {EtcdFault.COMPACTION: 3, EtcdFault.SILENT_WATCHES: 3, EtcdFault.WATCHES_LOST: 3},
        lagging=0.5,
    ),
    EtcdProfile("hardly ever there", {EtcdFault.UNAVAILABLE: 3, EtcdFault.REFUSING_CUT: 2}),
)

PROFILES = (MIXED, *TILTED)


def etcd_profile_of(seed: int) -> EtcdProfile:
    """The profile of a seed."""
    random = Random(f"etcd profile/{seed}")
    return random.choice(TILTED) if random.random() < TILTED_CHANCE else MIXED
