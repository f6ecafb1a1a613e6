"""The leases that an origin holds: of each queue by their numbers, in the order in which they were
handed out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        """The origin holds these, which are of one queue."""
        if leases:
            held = self._by_queue.setdefault(leases[0].queue.id, {})
            held.update([(lease.number, lease) for lease in leases])
            self._count += len(leases)

    def take(self, queue_id: int, numbers: Iterable[int]) -> tuple[list[Lease], int]:
        """The leases of these numbers, in this order, which the origin holds no more; and how many
        of the numbers it did not hold."""
        leases = self._by_queue.get(queue_id, {})
        taken: list[Lease] = []
        missing = 0
        for number in numbers:
            lease = leases.pop(number, None)
            if lease is None:
                missing += 1
            else:
                taken.append(lease)
        self._count -= len(taken)
        if not leases:
            self._by_queue.pop(queue_id, None)
        return taken, missing

    def forget(self, queue: Queue) -> None:
        """The queue is deleted, and so its leases are stale."""
        self._count -= len(self._by_queue.pop(queue.id, ()))

    def take_all(self) -> list[list[Lease]]:
        """The leases of each queue; none is held any more."""
        by_queue, self._by_queue = self._by_queue, {}
        self._count = 0
        return [list(leases.values()) for leases in by_queue.values()]
