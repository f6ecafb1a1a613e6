from __future__ import annotations

from random import Random

import pytest

from reference_broker.cluster.coordinator import Outcome, Put, Transaction, Won
from reference_broker.simulation.etcd.faults import EtcdFaultInjector
from reference_broker.simulation.etcd.model import EtcdModel
from reference_broker.simulation.etcd.profile import CALM, MIXED, EtcdFault, EtcdProfile
from reference_broker.simulation.events.clock import SimulatedClock

HOUR_US = 3_600_000_000


def injector(profile: EtcdProfile) -> tuple[SimulatedClock, EtcdModel, EtcdFaultInjector]:
    clock = SimulatedClock()
    model = EtcdModel(clock, Random(1), profile)
    for node in "abc":
        model.connect(node)
    return clock, model, EtcdFaultInjector(clock, Random(2), model)


def test_every_kind_strikes() -> None:
    clock, _, faults = injector(MIXED)
    faults.begin()
    clock.run(HOUR_US)
    assert set(faults.counts) == {fault.value for fault in EtcdFault}


def test_a_calm_one_never_strikes() -> None:
    clock, _, faults = injector(CALM)
    faults.begin()
    clock.run(HOUR_US)
    assert not faults.counts


@pytest.mark.parametrize("kind", EtcdFault)
def test_when_it_has_stopped_everything_works(kind: EtcdFault) -> None:
    clock, model, faults = injector(EtcdProfile("one", {kind: 1}))
    faults.begin()
    clock.run(HOUR_US // 20)
    assert faults.counts[kind.value] > 3
    faults.stop()
    struck = faults.counts.total()
    outcomes: list[Outcome] = []
    for coordinator in model.coordinators:
        put = Put(coordinator.node, b"")
        coordinator.propose(Transaction((), (put,)), outcomes.append)
    clock.run(HOUR_US)
    assert {type(outcome) for outcome in outcomes} == {Won}
    assert len(outcomes) == 3
    assert faults.counts.total() == struck
