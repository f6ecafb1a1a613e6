"""Objects by name, from a file and from a broker."""

from __future__ import annotations

from dataclasses import replace

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology import ExchangeModel, QueueModel, Snapshot, Topology
from mqkit.topology.policy.policy_model import PolicyModel
from mqkit.topology.wiring.parts import Part, Role
from mqkit.topology.wiring.wiring import Wiring


def test_a_file_has_objects_and_external_names() -> None:
    topology = Topology(
        (ExchangeModel("x"), ExchangeModel("theirs", external=True)),
        (QueueModel("q"), QueueModel("other", external=True)),
        "shop",
    )
    found = Wiring.of_topology(topology)
    assert list(found.exchanges) == ["x"]
    assert list(found.queues) == ["q"]
    assert found.external_exchanges == {"theirs"}
    assert found.external_queues == {"other"}
    assert found.vhost == "shop"
    assert found.messages_in("q") is found.consumers_of("q") is None


def test_an_exclusive_queue_is_its_connections_own_but_its_exchange_is_bound() -> None:
    snapshot = Snapshot.of(
        "/",
        (
            Exchange("x"),
            Exchange("y"),
            Queue("mine", exclusive=True),
            Queue("q"),
            Binding("x", "mine"),
            Binding("y", "q"),
        ),
    )
    found = Wiring.of_snapshot(replace(snapshot, bound_besides=frozenset(["z"])))
    assert list(found.queues) == ["q"]
    assert found.bindings == (Binding("y", "q"),)
    assert found.bound_besides == {"x", "z"}
    assert found.messages_in("q") == 0


def test_what_a_file_says_goes_before_a_name() -> None:
    snapshot = Snapshot.of("/", (Queue("q.parked"), Queue("dead")))
    found = Wiring.of_snapshot(snapshot, parts={"dead": Part(Role.LOT, "q")})
    assert found.parts == {"q.parked": Part(Role.LOT, "q"), "dead": Part(Role.LOT, "q")}


def test_arguments_are_those_in_force() -> None:
    definition = {"overflow": "drop-head", "max-length": 9}
    snapshot = replace(
        Snapshot.of("/", (Queue("q", arguments={"x-max-length": 5}),)),
        policies=(PolicyModel("p", "^q$", definition=definition),),
    )
    found = Wiring.of_snapshot(snapshot)
    assert found.queues["q"].arguments == {"x-max-length": 5, "x-overflow": "drop-head"}


def test_a_file_has_its_policies_in_force_too() -> None:
    topology = Topology(
        queues=(QueueModel("q", expires_ms=5, via_policy=("expires",)),),
        policies=(PolicyModel("p", "", definition={"max-length": 9}),),
    )
    found = Wiring.of_topology(topology).queues["q"].arguments
    assert found == {"x-expires": 5, "x-max-length": 9}


def test_a_file_can_have_the_counts_of_a_broker() -> None:
    wiring = Wiring.of_topology(Topology((), (QueueModel("q"),)))
    assert wiring.counted_by(Snapshot.of("/", (Queue("q"),))).messages_in("q") == 0
    assert wiring.counted_by(None) == wiring
