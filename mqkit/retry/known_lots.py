"""The parking lots that somebody has named: a topology file, or a person with ``--lot``.

A queue is a parking lot if it is named here, or if its name has the form of one
(:mod:`mqkit.retry.names`). ``x-death`` on its messages says nothing: a queue whose retry tiers
dead-letter back to it has that, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqkit.retry.names import is_parking_lot, owner_of_parking_lot, owner_of_tier


@dataclass(frozen=True, slots=True)
class KnownLots:
    """``owners``: the queue that each named lot belongs to, ``None`` where nobody said, and where
    several park in it. ``tiers``: the queue that each named retry tier goes back to."""

    owners: Mapping[str, str | None] = field(default_factory=dict)
    tiers: Mapping[str, str] = field(default_factory=dict)

    def is_lot(self, name: str) -> bool:
        """True if ``name`` is a parking lot."""
        return name in self.owners or is_parking_lot(name)

    def owner_of(self, name: str) -> str | None:
        """The queue whose failed messages the lot ``name`` keeps; ``None`` if it is no lot, or if
        nobody said."""
        return self.owners[name] if name in self.owners else owner_of_parking_lot(name)

    def is_tier(self, name: str) -> bool:
        """True if ``name`` is a retry tier."""
        return name in self.tiers or owner_of_tier(name) is not None
