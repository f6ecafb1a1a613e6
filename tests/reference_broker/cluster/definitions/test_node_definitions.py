"""node_definitions: the parts of a node's definitions, wired."""

from __future__ import annotations

from mqkit.wire.methods import ExchangeDeclare, QueueBind, QueueDeclare
from reference_broker.cluster.coordinator import Delete, Put
from reference_broker.cluster.definitions.shared_value import decode
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.work.task import agreed
from reference_broker.testing.sharing_brokers import SharingBrokers


def test_the_first_node_that_is_there_removes_what_a_node_has_left() -> None:
    nodes = SharingBrokers("a", "b", "c")
    client = nodes["c"].lone.client()
    client.send(1, QueueDeclare("mine", exclusive=True))
    client.send(1, QueueDeclare("transient"))
    client.send(1, QueueDeclare("kept", durable=True))
    nodes.settle()
    nodes["c"].hears = False
    nodes.write(Delete("live/c"))
    for _ in range(3):
        nodes.settle()
        nodes.clock.forward(1)
    assert [key for key in nodes.definitions if "/queue/" in key] == ["def/queue/%2F/kept"]
    assert list(nodes["b"].lone.broker.vhosts["/"].queues) == ["kept"]
    assert nodes.rows["proposals/a"].revision > nodes.rows["proposals/b"].revision


def test_an_exchange_that_lost_its_last_binding_with_a_node_goes() -> None:
    nodes = SharingBrokers("a", "b")
    client = nodes["b"].lone.client()
    client.send(1, ExchangeDeclare("x", "fanout", auto_delete=True))
    client.send(1, QueueDeclare("mine", exclusive=True))
    client.send(1, QueueBind("mine", "x", ""))
    nodes.settle()
    nodes["b"].hears = False
    nodes.write(Delete("live/b"))
    for _ in range(6):
        nodes.settle()
        nodes.clock.forward(1)
    kinds = [key.split("/")[1] for key in nodes.definitions]
    assert kinds == ["permission", "user", "vhost"]
    assert "x" not in nodes["a"].lone.broker.vhosts["/"].exchanges


def test_the_policy_of_a_name_at_its_declaration_says_where_a_queue_is() -> None:
    nodes = SharingBrokers("a", "b", "c")
    broker = nodes["a"].lone.broker
    fields = {"pattern": "^spread", "definition": {"queue-master-locator": "min-masters"}}
    wish = PolicyWish.parse(PolicyKind.USER, "spread", fields)
    policies = broker.vhosts["/"].policies
    broker.work.start(agreed(lambda: policies.set(PolicyKind.USER, "spread", wish)), "")
    nodes.settle()
    quorum = {"x-queue-type": "quorum"}  # a policy with that key is for no quorum queue
    for name in ("here", "spread-1", "spread-2", "spread-3", "spread-quorum"):
        arguments = quorum if name == "spread-quorum" else {}
        nodes["b"].lone.client().send(1, QueueDeclare(name, durable=True, arguments=arguments))
        nodes.settle()
    homes = {key: decode(nodes.rows[key].value).home for key in nodes.definitions if "queue" in key}
    assert homes == {
        "def/queue/%2F/here": "b",
        "def/queue/%2F/spread-1": "a",
        "def/queue/%2F/spread-2": "c",
        "def/queue/%2F/spread-3": "a",
        "def/queue/%2F/spread-quorum": "b",
    }


def test_the_durable_queues_of_a_forgotten_node_go_with_their_bindings() -> None:
    nodes = SharingBrokers("a", "b", "c")
    client = nodes["c"].lone.client()
    client.send(1, ExchangeDeclare("x", "fanout", durable=True))
    for number in range(150):
        client.send(1, QueueDeclare(f"q{number}", durable=True))
        client.send(1, QueueBind(f"q{number}", "x", ""))
    kept = nodes["b"].lone.client()
    kept.send(1, QueueDeclare("kept", durable=True))
    nodes.settle()
    nodes["c"].hears = False
    nodes.write(Delete("live/c"))
    nodes.settle()
    nodes.clock.forward(5)
    nodes.settle()
    assert nodes["b"].definitions.queue_homes.durable_by_node == {"c": 150, "b": 1}
    nodes.write(Delete("members/c"))
    for _ in range(12):
        nodes.settle()
        nodes.clock.forward(1)
    assert [key for key in nodes.definitions if "queue" in key or "binding" in key] == [
        "def/queue/%2F/kept"
    ]
    for name in "ab":
        assert list(nodes[name].lone.broker.vhosts["/"].queues) == ["kept"]
        assert nodes[name].lone.broker.vhosts["/"].exchanges["x"].bindings == {}


def test_a_node_that_joins_anew_keeps_what_was_not_deleted_yet() -> None:
    nodes = SharingBrokers("a", "c")
    nodes["c"].lone.client().send(1, QueueDeclare("q", durable=True))
    nodes.settle()
    nodes.write(Delete("live/c"), Delete("members/c"))
    nodes.write(Put("members/c", b"{}"))
    for _ in range(3):
        nodes.settle()
        nodes.clock.forward(1)
    assert "def/queue/%2F/q" in nodes.rows
