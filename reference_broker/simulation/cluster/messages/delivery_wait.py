"""The wait of a consumer for a message: whatever is ready is delivered where a consumer has
room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.homes import (
    home_of,
    is_linked_with_home,
    queue_at,
)

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

DELIVERED_US = 25_000_000
"""Microseconds in which a consumer with room is handed something of a queue that always has
something ready: as long as an answer may take."""


class DeliveryWait:
    """The wait of one consumer. Call :meth:`begin` when it is there, and with each message that it
    gets; :meth:`end` when it is gone; and :meth:`hold` from time to time."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self._since_us: int | None = None
        self._queue: Queue | None = None
        """The queue at its home, which had something ready at each look since."""

    def begin(self) -> None:
        """Wait from now on."""
        self._since_us, self._queue = self._world.clock.now_us, None

    def end(self) -> None:
        """Wait for nothing. Idempotent."""
        self._since_us = None

    def hold(self, process: NodeProcess, name: str) -> None:
        """Nothing has waited too long for a consumer of the queue at ``process`` that has room."""
        if self._since_us is None:
            return
        self._world.counts["liveness, consumers with room"] += 1
        home = self._home(process, name)
        queue = None if home is None else queue_at(home, name)
        if home is None or queue is None or not queue.ready or queue is not self._queue:
            self.begin()
            self._queue = queue if queue is not None and queue.ready else None
            return
        since_us = max(self._since_us, process.goes_since_us, home.goes_since_us)
        waited_us = self._world.clock.now_us - since_us
        if waited_us > DELIVERED_US:
            raise LawBroken(
                f"{queue.ready} messages were ready in {name} at {home.name} for"
                f" {waited_us / 1_000_000:.1f} s, and a consumer at {process.name} with room for"
                " them got none"
            )

    def _home(self, process: NodeProcess, name: str) -> NodeProcess | None:
        """The process that has the queue, goes round, and is linked with that of the consumer."""
        processes = self._world.processes
        node = home_of(process, name)
        home = None if node is None else processes.get(node)
        if home is None or home.is_gone or home.stands_since_us is not None:
            return None
        is_linked = is_linked_with_home(process, name, processes)
        is_here = not isinstance(queue_at(home, name), RemoteQueue)
        return home if is_linked and is_here else None
