from __future__ import annotations

from random import Random

from reference_broker.simulation.clients.workload import RUN_MESSAGES, UNCONFIRMED_MAX, Actor
from reference_broker.simulation.disk.inspection import Found
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.machine import Machine
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.plan.plans import BrokerPlan
from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.watch.history import History

SECOND_US = 1_000_000


class Rig:
    """The first client of a seed, alone on a machine without faults."""

    def __init__(self, seed: int = 35, actions_max: int | None = None) -> None:
        self.clock = SimulatedClock()
        self.links: list[Link] = []
        self.history = History([], self.clock)
        self.machine = Machine(
            self.clock,
            Random(1),
            PoweredDisk(),
            BrokerPlan(65_536),
            self,
            lambda link, data: None,
        )
        self.machine.recoveries_cut_short = False
        scenario = draw(seed)
        self.actor = Actor(
            self.clock,
            Random(2),
            self.machine,
            self.history,
            scenario,
            scenario.clients[0],
            lambda link, session: self.links.append(link),
            actions_max,
        )

    def started(self, node: Node, found: Found) -> None: ...

    def ended(self, node: Node) -> None: ...

    def stopped_cleanly(self, node: Node) -> None: ...

    def run(self, seconds: int) -> None:
        self.clock.run(self.clock.now_us + seconds * SECOND_US)


def test_it_connects_as_soon_as_somebody_listens() -> None:
    rig = Rig()
    rig.actor.begin()
    rig.run(5)
    assert rig.actor.session is None
    rig.machine.start()
    rig.run(5)
    assert rig.actor.session is not None
    assert rig.actor.session.ready
    assert rig.links[-1] is rig.actor.link


def test_it_publishes_and_settles() -> None:
    rig = Rig()
    rig.machine.start()
    rig.actor.begin()
    rig.run(30)
    for event in ("published", "confirmed", "delivered", "ack"):
        assert rig.history.counts[event] > 5


def test_it_takes_no_more_actions_than_it_may() -> None:
    rig = Rig(actions_max=0)
    rig.machine.start()
    rig.actor.begin()
    rig.run(10)
    assert (rig.actor.actions, rig.history.counts["published"]) == (0, 0)
    assert rig.actor.standing.is_connected
    rig = Rig(actions_max=7)
    rig.machine.start()
    rig.actor.begin()
    rig.run(30)
    assert rig.actor.actions == 7


def test_it_comes_back_with_a_new_session_after_the_broker_died() -> None:
    rig = Rig()
    rig.machine.start()
    rig.actor.begin()
    rig.run(5)
    before = rig.actor.session
    assert before is not None
    rig.machine.kill()
    rig.run(5)
    assert before.over
    assert rig.actor.session is not None
    assert rig.actor.session.channels[0].session > before.channels[0].session


def test_it_waits_for_confirms_before_it_goes_on_for_ever() -> None:
    rig = Rig()
    rig.machine.start()
    rig.actor.begin()
    rig.run(5)
    assert rig.actor.link is not None
    rig.actor.link.to_client.hold()
    rig.run(1_000)
    assert rig.actor.session is not None
    waiting = max(len(channel.unconfirmed) for channel in rig.actor.session.channels)
    assert UNCONFIRMED_MAX <= waiting < UNCONFIRMED_MAX + RUN_MESSAGES[1]


def test_who_has_left_does_nothing_more() -> None:
    rig = Rig()
    rig.machine.start()
    rig.actor.begin()
    rig.run(5)
    rig.actor.leave()
    trace = rig.history.trace_hash
    rig.run(60)
    assert rig.history.trace_hash == trace
    assert rig.actor.session is None
