"""The leases that an origin holds: of each queue by their numbers, in the order in which they were
handed out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue


class HeldLeases:
    """The leases of one origin, over one link. Those that a queue doesn't know any more stay until
    they are settled, as they do with a channel."""

    __slots__ = ("_by_queue", "_count")

    def __init__(self) -> None:
        self._by_queue: dict[int, dict[int, Lease]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, lease: Lease) -> None:
        """The origin holds this one from now on."""
        leases = self._by_queue.get(lease.queue.id)
        if leases is None:
            leases = self._by_queue[lease.queue.id] = {}
        leases[lease.number] = lease
        self._count += 1

    def add_run(self, leases: Sequence[Lease]) -> None:
        """The origin holds these, which are of one queue, and have one number after another."""
        if leases:
            held = self._by_queue.setdefault(leases[0].queue.id, {})
            held.update(enumerate(leases, leases[0].number))
            self._count += len(leases)

    def take(self, queue_id: int, numbers: Sequence[int]) -> tuple[list[Lease], int]:
        """The leases of these numbers, in this order, which the origin holds no more; and how many
        of the numbers it did not hold."""
        leases = self._by_queue.get(queue_id, {})
        taken = [lease for lease in map(leases.pop, numbers, repeat(None)) if lease is not None]
        self._count -= len(taken)
        if not leases:
            self._by_queue.pop(queue_id, None)
        return taken, len(numbers) - len(taken)

    def forget(self, queue: Queue) -> None:
        """The queue is deleted, and so its leases are stale."""
        self._count -= len(self._by_queue.pop(queue.id, ()))

    def take_all(self) -> list[list[Lease]]:
        """The leases of each queue; none is held any more."""
        by_queue, self._by_queue = self._by_queue, {}
        self._count = 0
        return [list(leases.values()) for leases in by_queue.values()]
