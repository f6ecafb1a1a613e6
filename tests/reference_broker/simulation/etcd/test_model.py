from __future__ import annotations

from random import Random

from reference_broker.cluster.coordinator import Outcome, Put, Transaction, Won
from reference_broker.simulation.etcd.model import EtcdModel
from reference_broker.simulation.events.clock import SimulatedClock


def test_all_nodes_share_one_etcd() -> None:
    clock = SimulatedClock()
    model = EtcdModel(clock, Random(1))
    outcomes: list[Outcome] = []
    for node in ("a", "b"):
        put = Put(node, b"")
        model.connect(node).propose(Transaction((), (put,)), outcomes.append)
    clock.run(4_000_000)
    assert sorted(outcomes) == [Won(2), Won(3)]


def test_only_processes_that_are_there_are_listed() -> None:
    model = EtcdModel(SimulatedClock(), Random(1))
    first, second = model.connect("a"), model.connect("b")
    first.close()
    third = model.connect("a")
    assert model.coordinators == [second, third]
