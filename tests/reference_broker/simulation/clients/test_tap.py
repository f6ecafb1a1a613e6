from __future__ import annotations

from reference_broker.simulation.clients.client import Session
from reference_broker.simulation.clients.memory import Memory
from reference_broker.simulation.clients.tap import Tap
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.plan.plans import (
    BrokerPlan,
    ChannelPlan,
    ClientPlan,
    Consume,
    QueuePlan,
    Scenario,
)
from reference_broker.simulation.watch.checkers import Checker
from reference_broker.simulation.watch.history import History
from reference_broker.testing.lone_broker import LoneBroker


class Listener(Checker):
    def __init__(self) -> None:
        self.told: list[str] = []

    def sent_blindly(self, queue: str, number: int) -> None:
        self.told.append(f"sent {number} from {queue}")

    def blind_get_sent(self, queue: str) -> None:
        self.told.append(f"get from {queue}")

    def blind_get_answered(self, queue: str) -> None:
        self.told.append(f"answer from {queue}")


def test_it_hears_what_is_sent_without_acks_and_nothing_else() -> None:
    blind, acked = Consume("blind", no_ack=True), Consume("acked")
    channels = (ChannelPlan(prefetch=0, consumes=(blind, acked)),)
    plan = ClientPlan(0, channels, (1, 2))
    queues = tuple(QueuePlan(name) for name in ("blind", "acked", "idle"))
    scenario = Scenario(0, queues, (plan,), BrokerPlan(4_096), (1, 2), 1)
    listener = Listener()
    clock = SimulatedClock()
    clock.stamp()
    history = History([listener], clock)
    peer = LoneBroker().socket()
    session = Session(plan, scenario, history, Memory(trusts=True), peer.send_bytes)
    tap = Tap(session, history)

    def hear(*, arrives: bool = True) -> None:
        while data := peer.output():
            tap.broker_sent(data)
            if arrives:
                session.receive_data(data, 1)

    session.begin()
    hear()
    channel = session.channels[0]
    for queue in ("blind", "acked", "idle"):
        peer.send_bytes(channel.publish(("", queue, (queue,)), 10, True))
    peer.send_bytes(channel.get(Consume("idle", no_ack=True)))
    peer.send_bytes(channel.get(Consume("idle", no_ack=True)))
    hear(arrives=False)
    get, answer = "get from idle", "answer from idle"
    assert listener.told == [get, get, "sent 1 from blind", answer, "sent 3 from idle", answer]
