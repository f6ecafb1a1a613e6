"""Faults of etcd in a run: at random times, of the kinds that a profile has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

from reference_broker.simulation.etcd.coordinator import SimulatedCoordinator
from reference_broker.simulation.etcd.line import Cut
from reference_broker.simulation.etcd.model import EtcdModel
from reference_broker.simulation.etcd.profile import CALM, EtcdFault
from reference_broker.simulation.etcd.server import UNAVAILABLE_MAX_US
from reference_broker.simulation.events.clock import SimulatedClock

PAUSE_US = (1_000_000, 15_000_000)
"""Microseconds from one strike to the next."""

CUT_US = (500_000, 40_000_000)
UNAVAILABLE_US = (200_000, UNAVAILABLE_MAX_US)
NO_SPACE_US = (1_000_000, 20_000_000)


class EtcdFaultInjector:
    """Strikes again and again, until :meth:`stop`, as the profile of ``model`` has it. ``counts``
    are by kind."""

    def __init__(self, clock: SimulatedClock, random: Random, model: EtcdModel) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._random = random
        self._model = model
        self._stopped = False
        server = model.server
        self._strikes: dict[EtcdFault, Callable[[], None]] = {
            EtcdFault.SILENT_CUT: lambda: self._cut(Cut.SILENT),
            EtcdFault.REFUSING_CUT: lambda: self._cut(Cut.REFUSING),
            EtcdFault.UNAVAILABLE: lambda: server.go_away(random.randint(*UNAVAILABLE_US)),
            EtcdFault.LEADER_CHANGE: server.change_leader,
            EtcdFault.NO_SPACE: self._fill,
            EtcdFault.LEASES_REVOKED: server.revoke_leases,
            EtcdFault.COMPACTION: self._compact,
            EtcdFault.SILENT_WATCHES: lambda: self._at_a_node(SimulatedCoordinator.silence_watches),
            EtcdFault.WATCHES_LOST: lambda: self._at_a_node(SimulatedCoordinator.lose_watches),
        }

    def begin(self) -> None:
        """Strike after a pause, and go on."""
        if self._model.server.profile.weights:
            self._clock.after(self._random.randint(*PAUSE_US), self._strike)

    def stop(self) -> None:
        """Strike no more: etcd is there, has space and reaches everybody, and no request is lost
        from now on."""
        self._stopped = True
        self._model.server.profile = CALM
        self._model.server.store.full = False
        self._model.server.come_back()
        for coordinator in self._model.coordinators:
            coordinator.heal()

    def _strike(self) -> None:
        if self._stopped:
            return
        weights = self._model.server.profile.weights
        kind = self._random.choices(list(weights), list(weights.values()))[0]
        self.counts[kind.value] += 1
        self._strikes[kind]()
        self.begin()

    def _at_a_node(self, act: Callable[[SimulatedCoordinator], None]) -> None:
        if self._model.coordinators:
            act(self._random.choice(self._model.coordinators))

    def _cut(self, cut: Cut) -> None:
        def act(coordinator: SimulatedCoordinator) -> None:
            coordinator.cut(cut)
            self._clock.after(self._random.randint(*CUT_US), coordinator.heal)

        self._at_a_node(act)

    def _fill(self) -> None:
        store = self._model.server.store
        store.full = True
        self._clock.after(
            self._random.randint(*NO_SPACE_US), partial(setattr, store, "full", False)
        )

    def _compact(self) -> None:
        """Compact any revision, the last one most often."""
        last = self._model.server.store.revision
        self._model.server.compact(self._random.choice((last, self._random.randint(1, last))))
