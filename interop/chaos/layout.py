"""The names that the app declares and the run deletes, spelled out: the checker must not learn them
from mqkit."""

from __future__ import annotations

EXCHANGE = "chaos"
NO_EXCHANGE = "chaos.nowhere"
"""An exchange that nobody declares: the broker closes the channel of what is published to it."""
NO_KEY = "nobody"
"""A routing key that nothing is bound for."""

WORK = tuple(f"work.{number}" for number in range(8))
BATCHES = WORK[6:]
"""The queues of :data:`WORK` that have a batch consumer; the others have one for each message."""
NARROW = "narrow"
"""A queue that takes :data:`NARROW_MAX` messages and has no consumer: the broker nacks the rest."""
NARROW_MAX = 10
ASK = "ask"
"""The queue of questions."""

TIERS = ("100ms", "1s")
LONGEST_TIER_S = 1.0

PUBLISHERS = 8
CALLERS = 4
HEARTBEAT_S = 2
RECONNECT_MAX_S = 1.0


def tiers_of(queue: str) -> tuple[str, ...]:
    """The queues in which failed messages of ``queue`` wait."""
    return tuple(f"{queue}.retry.{tier}" for tier in TIERS)


def lot_of(queue: str) -> str:
    """The queue in which messages of ``queue`` are parked."""
    return f"{queue}.parked"


def all_queues() -> tuple[str, ...]:
    """Everything that may hold a message at the end."""
    owners = (*WORK, ASK)
    families = [name for owner in owners for name in (owner, *tiers_of(owner), lot_of(owner))]
    return (*families, NARROW)
