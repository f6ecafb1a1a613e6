"""The parking lots and the retry tiers of a topology, for tools that look into lots. Pure."""

from __future__ import annotations

from mqkit.retry.known_lots import KnownLots
from mqkit.retry.names import owner_of_parking_lot
from mqkit.topology.model import Topology


def known_lots(topology: Topology) -> KnownLots:
    """All lots of ``topology``, those of ``lots:`` too, each with the queue that parks there; a lot
    of several queues has no owner, for each of its messages has one."""
    owners: dict[str, str | None] = {}
    for model in topology.queues:
        if (lot := model.parking_lot) is not None:
            owners[lot] = None if lot in owners else model.name
    for named in topology.lots:
        owners.setdefault(named.name, owner_of_parking_lot(named.name))
    tiers = {name: model.name for model in topology.queues for name in model.tiers}
    return KnownLots(owners, tiers)


def parking_in(topology: Topology, lot: str) -> tuple[str, ...]:
    """The queues whose failed messages end in ``lot``, in the order of the file."""
    return tuple(model.name for model in topology.queues if model.parking_lot == lot)
