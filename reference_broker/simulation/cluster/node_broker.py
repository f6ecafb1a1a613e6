"""The broker of a simulated node: the real core, whose definitions are the cluster's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.cluster.definitions.node_definitions import NodeDefinitions
from reference_broker.cluster.definitions.shared_definitions import SharedDefinitions
from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.budget import Budget

if TYPE_CHECKING:
    from reference_broker.cluster.node import ClusterNode
    from reference_broker.cluster.pause import Timer
    from reference_broker.simulation.events.clock import SimulatedClock


class NodeBroker:
    """The broker of a node in its run. Call :meth:`attach` before anything else."""

    def __init__(self, clock: SimulatedClock, run: int, budget: Budget) -> None:
        self._clock = clock
        self.shared = SharedDefinitions()
        self.broker = Broker(
            MemoryJournal(run),
            UserStore(),
            secret=b"simulated",
            budget=budget,
            shared_definitions=self.shared,
        )
        self.reports: list[str] = []
        self.definitions: NodeDefinitions

    def attach(self, node: ClusterNode, after: Timer) -> None:
        """Have the broker follow the node's view."""
        self.definitions = NodeDefinitions(
            self.broker, self.shared, node, after, self.reports.append
        )

    def turn(self) -> bool:
        """One turn of the work that is left over; true while there is more."""
        self.broker.budget.refill()
        now_us = self._clock.now_us
        self.broker.go_on(now_us / 1_000_000, self._clock.wall_ms())
        return self.broker.has_work

    def vhost(self, name: str) -> VHost | None:
        """The virtual host of that name."""
        return self.broker.vhosts.get(name)
