"""The whole of it: one etcd, and the coordinators of all nodes."""

from __future__ import annotations

from random import Random

from reference_broker.cluster.coordinator import PAGE_ROWS_MAX
from reference_broker.simulation.etcd.coordinator import SimulatedCoordinator
from reference_broker.simulation.etcd.inbox import AsInput, at_once
from reference_broker.simulation.etcd.profile import CALM, EtcdProfile
from reference_broker.simulation.etcd.server import EtcdServer
from reference_broker.simulation.events.clock import SimulatedClock


class EtcdModel:
    """One etcd, ``server``, and a coordinator for each process that was connected to it.

    ``page_rows`` is small where paging is to be seen.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        profile: EtcdProfile = CALM,
        page_rows: int = PAGE_ROWS_MAX,
    ) -> None:
        self.server = EtcdServer(clock, random, profile)
        self._page_rows = page_rows
        self._coordinators: list[SimulatedCoordinator] = []

    def connect(self, node: str, as_input: AsInput = at_once) -> SimulatedCoordinator:
        """The coordinator of a process of ``node``, which runs by ``as_input`` what it is told. One
        that is started again has another; close the one before."""
        coordinator = SimulatedCoordinator(self.server, node, self._page_rows, as_input)
        self._coordinators.append(coordinator)
        return coordinator

    @property
    def coordinators(self) -> list[SimulatedCoordinator]:
        """Those of the processes that are there, the oldest first."""
        self._coordinators = [each for each in self._coordinators if not each.closed]
        return self._coordinators
