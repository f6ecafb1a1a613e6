"""One run of one seed: everything that is made of it, and the two phases of it.

First faults and clients together, then neither: a last consumer must get everything that was
promised, and after it acked all of that nothing may come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random

from reference_broker.core.broker import DEFAULT_VHOST
from reference_broker.simulation.checkers import (
    AckChecker,
    Checker,
    DurabilityChecker,
    OrderChecker,
    PrefetchChecker,
    RedeliveredChecker,
    Violation,
)
from reference_broker.simulation.client import number_of
from reference_broker.simulation.clock import SimulatedClock
from reference_broker.simulation.faults import FaultInjector
from reference_broker.simulation.history import History
from reference_broker.simulation.machine import Machine
from reference_broker.simulation.network import Link
from reference_broker.simulation.power import PoweredDisk
from reference_broker.simulation.scenario import DURATION_US, Scenario, draw
from reference_broker.simulation.workload import Actor

CONVERGE_US = 120_000_000
"""How long each step of the last phase may take, in virtual time: far more than one does."""


class World:
    """Made of a seed; :meth:`run` it once. ``disk`` is for those who want to watch it, or to have
    one that forgets; it must be a new one."""

    def __init__(
        self, seed: int, *, duration_us: int = DURATION_US, disk: PoweredDisk | None = None
    ) -> None:
        self.scenario: Scenario = draw(seed, duration_us)
        self.clock = SimulatedClock()
        self.history = History(_checkers(self.scenario))
        self.disk = disk or PoweredDisk(self._random("disk"))
        self.machine = Machine(
            self.clock,
            self._random("machine"),
            self.disk,
            self.scenario.segment_bytes,
            self._recovered,
            self.broker_sent,
        )
        self.faults = FaultInjector(
            self.clock, self._random("faults"), self.machine, self.scenario.fault_pause_us
        )
        self.actors = [
            Actor(
                self.clock,
                self._random(f"client/{plan.index}"),
                self.machine,
                self.history,
                self.scenario,
                plan,
            )
            for plan in (*self.scenario.clients, self.scenario.drainer())
        ]
        self._last_published: tuple[object, int] | None = None

    def run(self) -> None:
        """Both phases. Raises :exc:`Violation` where a law is broken, and whatever the broker
        itself raises, which it never should."""
        *clients, drainer = self.actors
        self.machine.start()
        for client in clients:
            client.begin()
        self.faults.begin()
        self.clock.run(self.scenario.duration_us)
        self.faults.stop()
        for client in clients:
            client.leave()
        self._last_end()
        drainer.begin()
        self._converge("everything is consumed", lambda: self._is_drained(drainer))
        self.history.drained()
        self._converge("the last message is confirmed", lambda: self._publish_last(drainer))
        drainer.leave()
        self.machine.recoveries_cut_short = False
        self.machine.lose_power()
        self._converge("the broker starts", lambda: self.machine.node is not None)

    @property
    def fault_counts(self) -> Counter[str]:
        """By kind, those that struck in the middle of a recovery included."""
        return self.faults.counts + Counter(
            {"power loss in recovery": self.machine.cuts_in_recovery}
        )

    def broker_sent(self, link: Link, data: bytes) -> None:
        """What the broker had for a client at the end of an input: part of the trace."""
        self.history.note("sent", self.clock.now_us, link.number, data)

    # The last phase

    def _last_end(self) -> None:
        """Queues are drained after a crash, after a clean stop, or just after the clients left."""
        end = self._random("end").choice(
            (self.machine.lose_power, self.machine.kill, self.machine.stop, lambda: None)
        )
        end()

    def _is_drained(self, drainer: Actor) -> bool:
        node, session = self.machine.node, drainer.session
        if node is None or session is None or not session.ready or session.held:
            return False
        queues = node.broker.vhosts[DEFAULT_VHOST].queues.values()
        return len(node.broker.connections) == 1 and not any(
            queue.ready or queue.unacked for queue in queues
        )

    def _publish_last(self, drainer: Actor) -> bool:
        """One message after all the acks: when it is confirmed they are synced."""
        session = drainer.session
        if session is None or not session.ready:
            return False
        confirmed = self.history.counts["confirmed"]
        if self._last_published is None or self._last_published[0] is not session:
            drainer.publish(1, persistent=True)
            self._last_published = (session, confirmed)
        return confirmed > self._last_published[1]

    def _converge(self, what: str, done: Callable[[], bool]) -> None:
        if not self.clock.run(self.clock.now_us + CONVERGE_US, done):
            raise Violation(
                "liveness", f"{CONVERGE_US // 1_000_000} s without faults, and not: {what}"
            )

    # Recovery

    def _recovered(self, queues: Mapping[str, Sequence[bytes]]) -> None:
        self.history.recovered(
            {name: [number_of(body) for body in bodies] for name, bodies in queues.items()}
        )

    def _random(self, part: str) -> Random:
        """A source of its own for each part: a change in one leaves the others as they were."""
        return Random(f"{part}/{self.scenario.seed}")


def _checkers(scenario: Scenario) -> list[Checker]:
    dead_letters = scenario.dead_letters
    return [
        DurabilityChecker(dead_letters),
        AckChecker(),
        RedeliveredChecker(dead_letters),
        OrderChecker(dead_letters),
        PrefetchChecker(),
    ]
