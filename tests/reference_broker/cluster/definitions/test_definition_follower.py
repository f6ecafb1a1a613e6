"""definition_follower: every kind is made, changed and ended on every node, and by nothing but its
definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reference_broker.cluster.coordinator import Delete, Put
from reference_broker.cluster.definitions.shared_value import SharedValue, encode
from reference_broker.core.access.permission import Permission, TopicPermission
from reference_broker.core.access.users import hash_password
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.work.task import agreed
from reference_broker.testing.sharing_brokers import SharingBrokers

PASSWORD = hash_password(b"secret", b"salt")
EVERYTHING = Permission.of(".*", ".*", ".*")


def _do(nodes: SharingBrokers, act: Callable[[], object], at: str = "a") -> None:
    nodes[at].lone.broker.work.start(agreed(act), "")
    nodes.settle()


def _of_b(nodes: SharingBrokers) -> Broker:
    return nodes["b"].lone.broker


def test_users_and_what_they_may_do() -> None:
    nodes = SharingBrokers("a", "b")
    broker, other = nodes["a"].lone.broker, _of_b(nodes)
    _do(nodes, lambda: broker.access.put_user("ann", PASSWORD, ("monitoring",), {}))
    _do(nodes, lambda: broker.access.set_permission("ann", "/", EVERYTHING))
    topic = TopicPermission("w", "r")
    _do(nodes, lambda: broker.access.set_topic_permission("ann", "/", "x", topic))
    ann = other.users.get("ann")
    assert ann is not None
    assert (ann.password, ann.tags) == (PASSWORD, ("monitoring",))
    assert other.access.permission("ann", "/") is not None
    assert other.access.topic_permission("ann", "/", "x") == topic
    _do(nodes, lambda: broker.access.put_user("ann", PASSWORD, (), {}))
    ann = other.users.get("ann")
    assert ann is not None
    assert ann.tags == ()
    assert other.access.permission("ann", "/") is not None, "it is the same user"
    _do(nodes, lambda: broker.access.clear_topic_permission("ann", "/", "x"))
    assert other.access.topic_permission("ann", "/", "x") is None
    _do(nodes, lambda: broker.delete_user("ann"))
    assert other.users.get("ann") is None
    assert other.access.permission("ann", "/") is None


def test_a_user_that_is_made_again_may_nothing_and_a_deleted_ones_connections_end() -> None:
    nodes = SharingBrokers("a", "b")
    broker, other = nodes["a"].lone.broker, _of_b(nodes)
    client = nodes["b"].lone.client()
    _do(nodes, lambda: broker.delete_user("guest"))
    assert "320" in str(client.methods()[0])
    assert "def/permission/%2F/guest" in nodes.rows, "its key is left over"
    _do(nodes, lambda: broker.access.put_user("guest", PASSWORD, (), {}))
    assert other.access.permission("guest", "/") is None
    nodes.clock.forward(2)
    nodes.settle()
    assert "def/permission/%2F/guest" not in nodes.rows


def test_policies_and_parameters() -> None:
    nodes = SharingBrokers("a", "b")
    broker, other = nodes["a"].lone.broker, _of_b(nodes)
    _do(nodes, lambda: broker.vhosts["/"].declare_queue("q", durable=True))
    for most in (3, 4):
        value = {"pattern": "^q$", "definition": {"max-length": most}}
        wish = PolicyWish.parse(PolicyKind.USER, "p", value)
        _do(nodes, partial(broker.vhosts["/"].policies.set, PolicyKind.USER, "p", wish))
        applied = other.vhosts["/"].queues["q"].policies.user
        assert applied is not None
        assert applied.definition == {"max-length": most}
    _do(nodes, lambda: broker.vhosts["/"].policies.remove(PolicyKind.USER, "p"))
    assert other.vhosts["/"].queues["q"].policies.user is None
    _do(nodes, lambda: broker.global_parameters.set("cluster_name", "ours"))
    assert other.global_parameters.cluster_name("") == "ours"
    _do(nodes, lambda: broker.global_parameters.remove("cluster_name"))
    assert "cluster_name" not in other.global_parameters


def test_a_virtual_host_goes_with_everything_in_it() -> None:
    nodes = SharingBrokers("a", "b")
    broker, other = nodes["a"].lone.broker, _of_b(nodes)
    before = nodes.definitions
    _do(nodes, lambda: broker.add_vhost("v", VHostInfo("one")))
    _do(nodes, lambda: broker.add_vhost("v", VHostInfo("another")))
    assert other.vhosts["v"].info.description == "another"
    vhost = broker.vhosts["v"]
    _do(nodes, lambda: vhost.declare_exchange("x", "topic", durable=True))
    _do(nodes, lambda: vhost.declare_queue("q", durable=True))
    for number in range(150):
        _do(nodes, partial(vhost.bind, "x", "q", f"k{number}", destination_is_queue=True))
    _do(nodes, lambda: broker.access.set_permission("guest", "v", EVERYTHING))
    assert len(nodes.definitions) == len(before) + 154

    def delete() -> None:
        if "v" in broker.vhosts:
            broker.delete_vhost("v")

    _do(nodes, delete)
    assert "v" not in other.vhosts
    assert other.access.permission("guest", "v") is None
    nodes.clock.forward(5)
    nodes.settle()
    for _ in range(5):  # in portions of 64
        nodes.clock.forward(1)
        nodes.settle()
    assert nodes.definitions == before


def test_what_is_made_again_is_not_what_others_spoke_of() -> None:
    nodes = SharingBrokers("a", "b", "c")
    broker = nodes["a"].lone.broker
    vhost = broker.vhosts["/"]
    _do(nodes, lambda: vhost.declare_exchange("x", "fanout", durable=True))
    _do(nodes, lambda: vhost.declare_queue("q", durable=True))
    _do(nodes, lambda: vhost.bind("x", "q", "", destination_is_queue=True))
    _do(nodes, lambda: vhost.delete_queue("q"))
    _do(nodes, lambda: vhost.declare_queue("q", durable=True))
    for node in nodes.nodes.values():
        assert node.lone.broker.vhosts["/"].route("x", "", b"") == ()
    assert len([key for key in nodes.rows if "binding" in key]) == 1, "it is left over"
    _do(nodes, lambda: vhost.bind("x", "q", "", destination_is_queue=True), at="a")
    nodes.clock.forward(2)
    nodes.settle()
    for node in nodes.nodes.values():
        route = node.lone.broker.vhosts["/"].route("x", "", b"")
        assert route is not None
        assert [queue.name for queue in route] == ["q"]


def test_what_cannot_be_read_is_reported_and_the_others_go_on() -> None:
    nodes = SharingBrokers("a", "b")
    value = encode(SharedValue(b"\x09"))
    nodes.write(
        Put("def/queue/%2F/odd", b"\x00"),
        Put("def/queue/%2F/later", value),
        Put("def/something new/%2F/x", encode(SharedValue(b""))),
        Put("def/user/ann", encode(SharedValue(b"?"))),
    )
    nodes.settle()
    for node in nodes.nodes.values():
        assert len(node.reports) == 4
        assert all("is left out" in report for report in node.reports)
    broker = nodes["a"].lone.broker
    _do(nodes, lambda: broker.vhosts["/"].declare_queue("q"))
    assert "q" in _of_b(nodes).vhosts["/"].queues
    nodes.write(Delete("def/queue/%2F/odd"), Delete("def/user/ann"))
    nodes.settle()
