"""All of a file, or nothing: the rehearsal finds everything that declaring it would find."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from reference_broker.cluster.coordinator import Refused
from reference_broker.cluster.metadata.proposals import PATIENCE_S
from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.topology_bounds import TopologyBounds
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.task import Steps
from reference_broker.errors import NotAgreed
from reference_broker.http.definitions.file import DefinitionsFile
from reference_broker.http.definitions.topology_import import TopologyImport
from reference_broker.testing.sharing_brokers import SharingBrokers


def exchange(name: str, type: str = "topic", **other: Any) -> dict[str, Any]:
    row = {"name": name, "vhost": "/", "type": type, "durable": True, "auto_delete": False}
    return {**row, **other}


def queue(name: str, **other: Any) -> dict[str, Any]:
    return {"name": name, "vhost": "/", "durable": True, "auto_delete": False, **other}


def binding(source: str, destination: str, key: str = "", **other: Any) -> dict[str, Any]:
    row = {"source": source, "vhost": "/", "destination": destination, "routing_key": key}
    return {**row, "destination_type": "queue", **other}


@pytest.fixture
def broker() -> Broker:
    return Broker(MemoryJournal(), UserStore())


@pytest.fixture
def vhost(broker: Broker) -> VHost:
    return broker.vhosts["/"]


def loading(
    broker: Broker,
    exchanges: Any = (),
    queues: Any = (),
    bindings: Any = (),
) -> TopologyImport:
    body = {"exchanges": [*exchanges], "queues": [*queues], "bindings": [*bindings]}
    file = DefinitionsFile()
    list(file.read(body, None))
    found = TopologyImport(file, broker.vhosts)
    list(found.rehearse())
    return found


def bound(vhost: VHost) -> list[tuple[str, str, str]]:
    return [(b.source, b.destination, b.key) for b in vhost.bindings() if b.source]


def test_it_is_declared_in_order_and_nothing_twice(broker: Broker, vhost: VHost) -> None:
    wanted: Any = (
        [exchange("x"), exchange("inner", "fanout", internal=True)],
        [queue("q", arguments={"x-max-length": 5}), queue("transient", durable=False)],
        [
            binding("x", "inner", "k", destination_type="exchange"),
            binding("inner", "q"),
            binding("amq.topic", "q", "a.*"),
        ],
    )
    journal = broker.journal
    first = loading(broker, *wanted)
    assert (first.faults, journal.tail) == ([], 0)  # a rehearsal leaves nothing behind
    list(first.apply(broker.vhosts))
    assert vhost.exchanges["inner"].internal
    assert vhost.queues["q"].arguments == {"x-max-length": 5}
    assert not vhost.queues["transient"].durable
    assert bound(vhost) == [("x", "inner", "k"), ("inner", "q", ""), ("amq.topic", "q", "a.*")]
    tail = journal.tail
    again = loading(broker, *wanted)
    assert again.faults == []
    list(again.apply(broker.vhosts))
    assert journal.tail == tail


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        (
            {"exchanges": [exchange("x", "direct")]},
            "exchange 'x': PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'x' in vhost"
            " '/': received 'direct' but current is 'topic'",
        ),
        ({"exchanges": [exchange("amq.topic", "fanout")]}, "exchange 'amq.topic': PRECONDITION_"),
        ({"exchanges": [exchange("amq.mine")]}, "exchange 'amq.mine': ACCESS_REFUSED"),
        ({"exchanges": [exchange("", "direct")]}, "exchange '': ACCESS_REFUSED"),
        ({"exchanges": [exchange("y", "x-delayed")]}, "exchange 'y': PRECONDITION_FAILED - unk"),
        (
            {"queues": [queue("q", durable=False)]},
            "queue 'q': PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q'",
        ),
        ({"queues": [queue("mine")]}, "queue 'mine': RESOURCE_LOCKED"),
        (
            {"queues": [queue("n", arguments={"x-queue-type": "new"})]},
            "queue 'n': PRECONDITION_FAILED - invalid arg 'x-queue-type' for queue 'n'",
        ),
        (
            {"queues": [queue("n", arguments={"x-queue-type": "stream"})]},
            "queue 'n': NOT_IMPLEMENTED - queue type 'stream' is not supported",
        ),
        ({"queues": [queue("n", vhost="shop")]}, "queue 'n': there is no vhost 'shop'"),
        (
            {"queues": [queue("n"), queue("n", auto_delete=True)]},
            "queue 'n': PRECONDITION_FAILED - inequivalent arg 'auto_delete'",
        ),
        ({"bindings": [binding("x", "gone")]}, "binding 'x' -> 'gone': NOT_FOUND - no queue"),
        ({"bindings": [binding("gone", "q")]}, "binding 'gone' -> 'q': NOT_FOUND - no exchange"),
        ({"bindings": [binding("", "q", "q")]}, "binding '' -> 'q': ACCESS_REFUSED"),
        ({"bindings": [binding("x", "mine")]}, "binding 'x' -> 'mine': RESOURCE_LOCKED"),
        (
            {"bindings": [binding("amq.headers", "q", arguments={"x-match": "some"})]},
            "binding 'amq.headers' -> 'q': PRECONDITION_FAILED",
        ),
    ],
)
def test_one_fault_and_nothing_is_declared(
    broker: Broker, vhost: VHost, wanted: dict[str, Any], fault: str
) -> None:
    vhost.declare_exchange("x", "topic", durable=True)
    vhost.declare_queue("q", durable=True)
    vhost.declare_queue("mine", exclusive=True, owner=object())
    (found,) = loading(broker, **{"exchanges": [exchange("good")], **wanted}).faults
    assert found.startswith(fault)
    assert list(vhost.queues) == ["q", "mine"]
    assert "good" not in vhost.exchanges
    assert bound(vhost) == []


def test_every_fault_is_told(broker: Broker) -> None:
    found = loading(
        broker, [exchange("a", "x")], [queue("q", arguments={"x-expires": 0})], [binding("n", "m")]
    ).faults
    assert [fault.split(":")[0] for fault in found] == [
        "exchange 'a'",
        "queue 'q'",
        "binding 'n' -> 'm'",
    ]


def test_names_are_cleaned_as_a_clients_are(broker: Broker, vhost: VHost) -> None:
    vhost.declare_queue("q", durable=True)
    found = loading(broker, [exchange("x\n")], [queue("q\r\n")], [binding("x", "q\n")])
    assert found.faults == []
    list(found.apply(broker.vhosts))
    assert (list(vhost.queues), bound(vhost)) == (["q"], [("x", "q", "")])


def test_a_binding_is_known_whatever_types_its_arguments_had(broker: Broker, vhost: VHost) -> None:
    vhost.declare_queue("q", durable=True)
    when = datetime(2026, 1, 2, tzinfo=UTC)
    vhost.bind("amq.headers", "q", "", {"at": when, "b": b"x"}, destination_is_queue=True)
    same = binding("amq.headers", "q", arguments={"b": "x", "at": int(when.timestamp())})
    other = binding("amq.headers", "q", arguments={"b": "y", "at": int(when.timestamp())})
    for _ in range(2):
        found = loading(broker, bindings=[same, other])
        assert found.faults == []
        list(found.apply(broker.vhosts))
    assert len(bound(vhost)) == 2


def test_a_bound_of_the_virtual_host(broker: Broker, vhost: VHost) -> None:
    vhost.declare_exchange("x", "topic", durable=True)
    vhost.declare_queue("q", durable=True)
    vhost.bind("x", "q", "0", destination_is_queue=True)
    vhost.bounds = TopologyBounds(
        max_queues=2, max_exchanges=len(vhost.exchanges) + 1, max_bindings=2
    )
    fits: Any = (
        [exchange("x"), exchange("y")],
        [queue("q"), queue("r")],
        [binding("x", "q", "0"), binding("x", "q", "1")],
    )
    assert loading(broker, *fits).faults == []
    crossed: Any = (
        [*fits[0], exchange("z")],
        [*fits[1], queue("s")],
        [*fits[2], binding("y", "r", "2")],
    )
    assert loading(broker, *crossed).faults == [
        "vhost '/': it would have 3 queues, and 2 is the most",
        "vhost '/': it would have 10 exchanges, and 9 is the most",
        "vhost '/': it would have 3 bindings, and 2 is the most",
    ]
    list(loading(broker, *fits).apply(broker.vhosts))
    assert loading(broker, *fits).faults == []


def test_what_was_rehearsed_is_let_go(broker: Broker, vhost: VHost) -> None:
    vhost.declare_queue("q", durable=True)
    vhost.declare_queue("mine", exclusive=True, owner=object())
    found = loading(
        broker,
        [exchange("x")],
        [queue("q"), queue("new"), queue("many", arguments={"x-queue-type": "quorum"})],
        [binding("x", "q"), binding("amq.topic", "new", "k")],
    )
    assert found.faults == []
    assert len(list(found.release())) >= 3
    assert list(vhost.queues) == ["q", "mine"]
    for stage in found._stages.values():
        assert not stage._stand_in.queues
        assert all(not each.bindings for each in stage._stand_in.exchanges.values())


def test_what_others_change_between_two_steps_is_named(broker: Broker, vhost: VHost) -> None:
    found = loading(
        broker, [exchange("x")], [queue("q"), queue("r")], [binding("x", "q"), binding("x", "r")]
    )
    steps = found.apply(broker.vhosts)
    for _ in range(3):
        next(steps)
    vhost.delete_queue("q")
    list(steps)
    assert found.overtaken == ["binding 'x' -> 'q': NOT_FOUND - no queue 'q' in vhost '/'"]
    assert bound(vhost) == [("x", "r", "")]
    broker.delete_vhost("/")
    list(found.apply(broker.vhosts))
    assert "exchange 'x': there is no vhost '/'" in found.overtaken


def _importing(nodes: SharingBrokers, queues: int) -> tuple[TopologyImport, list[Exception | None]]:
    """An import at one node of a cluster, and its end."""
    broker = nodes["a"].lone.broker
    found = loading(
        broker,
        [exchange("x")],
        [queue(f"q {number}") for number in range(queues)],
        [binding("x", f"q {number}", "k") for number in range(queues)],
    )
    ended: list[Exception | None] = []

    def steps() -> Steps:
        yield from found.apply(broker.vhosts)

    broker.work.start(steps(), "/", done=ended.append)
    return found, ended


def test_the_other_nodes_are_asked_for_a_hundred_objects_together() -> None:
    nodes = SharingBrokers("a", "b")
    before = nodes.revision
    found, ended = _importing(nodes, 250)
    nodes.settle()
    assert (ended, found.done, found.overtaken) == ([None], 501, [])
    vhost = nodes["b"].lone.broker.vhosts["/"]
    assert len(vhost.queues) == 250
    assert len(bound(vhost)) == 250
    # A transaction has a hundred compares at the most, and a binding three.
    assert nodes.revision - before < 20, "transactions"


def test_an_import_ends_when_nobody_can_be_asked() -> None:
    nodes = SharingBrokers("a", "b")
    found, ended = _importing(nodes, 150)
    while found.done < 30:
        nodes.pass_on()
        nodes["a"].lone.complete()
    nodes.refusal = Refused("no etcd")
    nodes.settle()
    nodes.clock.forward(PATIENCE_S + 1)
    nodes.settle()
    assert [type(error) for error in ended] == [NotAgreed]
    assert (found.overtaken, found.done < 301) == ([], True)
