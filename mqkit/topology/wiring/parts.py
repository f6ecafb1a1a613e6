"""Queues that belong to another object: retry tiers and parking lots of a queue, delays of an
exchange. The file says which they are; on a broker alone the names do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from mqkit.delay.names import owner_of_delay
from mqkit.retry.names import owner_of_parking_lot, owner_of_tier
from mqkit.topology.compile import compile_delays
from mqkit.topology.model import Topology


class Role(StrEnum):
    """The part that a queue plays for its owner."""

    TIER = "tier"
    LOT = "lot"
    DELAY = "delay"


@dataclass(frozen=True, slots=True)
class Part:
    """``owner`` is a queue, or for a delay an exchange. ``wait_ms`` is how long a message waits in
    it; ``None`` in a lot."""

    role: Role
    owner: str
    wait_ms: int | None = None


def parts_in_file(topology: Topology) -> dict[str, Part]:
    """The parts that a file declares, by name."""
    parts: dict[str, Part] = {}
    for exchange in topology.exchanges:
        for wait_ms, (_, queue, _) in zip(
            sorted({*exchange.delays}), compile_delays(exchange), strict=True
        ):
            parts[queue.name] = Part(Role.DELAY, exchange.name, wait_ms)
    for model in topology.queues:
        if model.parking_lot is not None:
            parts[model.parking_lot] = Part(Role.LOT, model.name)
        for tier, wait_ms in model.tiers.items():
            parts[tier] = Part(Role.TIER, model.name, wait_ms)
    return parts


def parts_by_name(names: Iterable[str]) -> dict[str, Part]:
    """The parts among ``names``, by the form of the names."""
    return dict(_by_name(names))


def _by_name(names: Iterable[str]) -> Iterator[tuple[str, Part]]:
    for name in names:
        if (tier := owner_of_tier(name)) is not None:
            yield name, Part(Role.TIER, *tier)
        elif (lot := owner_of_parking_lot(name)) is not None:
            yield name, Part(Role.LOT, lot)
        elif (delay := owner_of_delay(name)) is not None:
            yield name, Part(Role.DELAY, *delay)
