"""Profiles of faults: what strikes in a run, how often, and how bad the disk is.

Some bugs need one kind of fault again and again, which a mixture of all hardly ever has. So a part
of the seeds is tilted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from random import Random

SLOW_SYNC_CHANCE = 0.03
TILTED_CHANCE = 0.4
"""Share of the seeds that have another profile than :data:`MIXED`."""


class Fault(Enum):
    """The kinds of faults. The last three come in seeds that say so, whatever their profile: those
    of a file once. The two before them come where the disk is behind calls of a system."""

    POWER_LOSS = "power loss"
    KILL = "kill"
    CLEAN_STOP = "clean stop"
    DISK_ERROR = "disk error"
    DISK_REFUSAL = "write without space"
    DISK_FULL = "full disk"
    COPY_ERROR = "failing copy"
    LINK_CUT = "cut connection"
    LINK_STALL = "stalled connection"
    NO_DESCRIPTORS = "too many open files"
    CLOSE_ERROR = "failing close"
    BIT_ROT = "flipped bit"
    READ_ERROR = "unreadable file"
    CLOCK_SET = "set clock"


@dataclass(frozen=True, slots=True)
class FaultProfile:
    """``weights`` are of the kinds that strike. With ``half_written`` any part of what was not
    synced survives each power loss; without it all of it may, or nothing, too."""

    name: str
    weights: Mapping[Fault, int]
    slow_sync_chance: float = SLOW_SYNC_CHANCE
    half_written: bool = False


MIXED = FaultProfile(
    "mixed",
    {
        Fault.POWER_LOSS: 5,
        Fault.KILL: 2,
        Fault.CLEAN_STOP: 1,
        Fault.DISK_ERROR: 1,
        Fault.DISK_REFUSAL: 1,
        Fault.DISK_FULL: 1,
        Fault.LINK_CUT: 5,
        Fault.LINK_STALL: 5,
    },
)

TILTED = (
    FaultProfile("slow disk", {Fault.POWER_LOSS: 1}, slow_sync_chance=0.3),
    FaultProfile("half written", {Fault.POWER_LOSS: 5, Fault.COPY_ERROR: 1}, half_written=True),
    FaultProfile("stops in turn", {Fault.CLEAN_STOP: 3, Fault.KILL: 2, Fault.POWER_LOSS: 2}),
    FaultProfile("copies fail", {Fault.COPY_ERROR: 6, Fault.POWER_LOSS: 2, Fault.CLEAN_STOP: 1}),
    FaultProfile("clients fail", {Fault.LINK_CUT: 6, Fault.LINK_STALL: 3, Fault.DISK_FULL: 1}),
)

PROFILES = (MIXED, *TILTED)


OF_A_SYSTEM = {Fault.NO_DESCRIPTORS: 1, Fault.CLOSE_ERROR: 1}
"""Weights of what else strikes where there is a system."""


def with_calls(profile: FaultProfile) -> FaultProfile:
    """The profile for a broker that has its disk through calls of a system."""
    return replace(profile, weights={**profile.weights, **OF_A_SYSTEM})


def profile_of(seed: int) -> FaultProfile:
    """The profile of a seed."""
    random = Random(f"profile/{seed}")
    return random.choice(TILTED) if random.random() < TILTED_CHANCE else MIXED
