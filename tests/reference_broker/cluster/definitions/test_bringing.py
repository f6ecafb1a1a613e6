"""bringing: a cluster that was never set up is so by whoever comes first, in portions."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Refused
from reference_broker.cluster.definitions.bringing import COMPARES_MAX, Bringing
from reference_broker.cluster.definitions.brought import SET_UP_KEY, changes_of
from reference_broker.core.access import access_definition
from reference_broker.core.access.users import User, hash_password
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import (
    QueueDefinition,
    binding_key,
    encode_binding,
    encode_queue,
    queue_key,
)
from reference_broker.core.journal.definition_store import Change
from reference_broker.core.work.task import Steps
from reference_broker.testing.sharing_brokers import SharingBrokers

QUEUES = 250
VHOST = "v"


def _changes(first_id: int = 1, prefix: str = "q") -> list[Change]:
    """A virtual host with many queues, each bound twice, and a user."""
    key_of = access_definition.key_of
    found = {
        key_of(access_definition.VHOST, VHOST): access_definition.encode_vhost(VHostInfo()),
        key_of(access_definition.USER, "ann"): access_definition.encode_user(
            User("ann", hash_password(b"x", b"salt"))
        ),
    }
    for number in range(QUEUES):
        name = f"{prefix}{number}"
        queue = QueueDefinition(first_id + number, name, False, {})
        found[queue_key(VHOST, name)] = encode_queue(queue)
        for source in ("amq.direct", "amq.fanout"):
            binding = Binding(source, name, "k", number=number)
            found[binding_key(VHOST, binding)] = encode_binding(binding)
    return changes_of(found)


class Bringer:
    """A node that brings; what it waited for is told in ``reports``."""

    def __init__(self, nodes: SharingBrokers, name: str) -> None:
        node = nodes[name]
        self.reports: list[str] = []
        self.goes_on = True
        self._node = node
        self.bringing = Bringing(
            node.view, node.shared, lambda: self.goes_on, nodes.clock.after, self.reports.append
        )
        self.has_ended = False

    def start(self, steps: Steps) -> None:
        self._node.lone.broker.work.start(steps, "", done=self._ended)

    def _ended(self, error: Exception | None) -> None:
        assert error is None
        self.has_ended = True


def test_all_is_there_after_it_in_portions_and_the_set_up_comes_last() -> None:
    nodes = SharingBrokers("a", "b")
    bringer = Bringer(nodes, "a")
    assert not bringer.bringing.is_set_up
    bringer.start(bringer.bringing.set_up(_changes()))
    nodes.settle()
    assert bringer.has_ended
    assert bringer.bringing.is_set_up
    for node in nodes.nodes.values():
        vhost = node.lone.broker.vhosts[VHOST]
        assert list(vhost.queues) == [f"q{number}" for number in range(QUEUES)]
        assert [queue.id for queue in vhost.queues.values()] == list(range(1, QUEUES + 1))
        assert len(vhost.exchanges["amq.direct"].bindings) == QUEUES
        assert "ann" in node.lone.broker.users
    rows = nodes.rows
    set_up = rows["def/" + SET_UP_KEY].revision
    assert set_up == max(row.revision for key, row in rows.items() if key.startswith("def/"))


def test_no_transaction_is_too_large() -> None:
    changes = _changes()
    assert sum(len(change.speaks_of) for change in changes) > 10 * COMPARES_MAX
    nodes = SharingBrokers("a")
    bringer = Bringer(nodes, "a")
    bringer.start(bringer.bringing.set_up(changes))
    nodes.settle()  # a proposal asserts its bounds
    assert bringer.has_ended


def test_another_node_goes_on_where_one_has_ended() -> None:
    nodes = SharingBrokers("a", "b")
    first, second = Bringer(nodes, "a"), Bringer(nodes, "b")
    changes = _changes()
    first.start(first.bringing.set_up(changes))
    nodes.carry_out(nodes["a"])
    first.goes_on = False
    nodes.settle()
    assert first.has_ended
    assert not second.bringing.is_set_up
    second.start(second.bringing.set_up(changes))
    nodes.settle()
    assert second.bringing.is_set_up
    assert len(nodes["b"].lone.broker.vhosts[VHOST].queues) == QUEUES


def test_of_two_that_set_up_at_once_nothing_is_defined_after_one_has_ended() -> None:
    nodes = SharingBrokers("a", "b")
    first, second = Bringer(nodes, "a"), Bringer(nodes, "b")
    first.start(first.bringing.set_up(_changes()[:2]))
    second.start(second.bringing.set_up(_changes(1_000, "other")))
    nodes.settle()
    assert first.has_ended
    assert second.has_ended
    set_up = nodes.rows["def/" + SET_UP_KEY].revision
    queues = [row.revision for key, row in nodes.rows.items() if key.startswith("def/queue/v/")]
    assert max(queues, default=0) < set_up
    second.has_ended = False
    second.start(second.bringing.add(_changes(1_000, "other")))
    nodes.settle()
    assert len(nodes["a"].lone.broker.vhosts[VHOST].queues) == QUEUES


def test_what_is_there_stays_as_it_is() -> None:
    nodes = SharingBrokers("a")
    bringer = Bringer(nodes, "a")
    bringer.start(bringer.bringing.add(_changes()))
    nodes.settle()
    before = {key: row.revision for key, row in nodes.rows.items() if key.startswith("def/")}
    bringer.start(bringer.bringing.add(_changes(5_000)))
    nodes.settle()
    after = {key: row.revision for key, row in nodes.rows.items() if key.startswith("def/")}
    assert after == before


def test_an_etcd_that_refuses_is_asked_again() -> None:
    nodes = SharingBrokers("a")
    bringer = Bringer(nodes, "a")
    nodes.refusal = Refused("no space", lasting=True)
    bringer.start(bringer.bringing.add(_changes()[:1]))
    nodes.carry_out(nodes["a"])
    nodes["a"].lone.complete()
    assert bringer.reports == ["waiting for etcd: the change was not made: no space"]
    assert not bringer.has_ended
    nodes.refusal = None
    nodes.settle()
    assert not bringer.has_ended
    nodes.clock.forward(1.1)
    nodes["a"].lone.complete()
    nodes.settle()
    assert bringer.has_ended
