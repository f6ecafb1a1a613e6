"""topology: what goes with what, and what comes back after a restart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_broker.core.base.ids import Ids
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.errors import ChannelException, Corrupt


class DefinitionJournal(MemoryJournal):
    """Keeps definitions, as the store's index of them does."""

    def __init__(self, epoch: int = 1) -> None:
        super().__init__(epoch)
        self.definitions: dict[str, bytes] = {}

    def define(self, key: str, value: bytes | None) -> None:
        super().define(key, value)
        if value is None:
            del self.definitions[key]  # never of something that was not defined
        else:
            self.definitions[key] = value


def make(journal: DefinitionJournal, name: str = "/") -> VHost:
    return VHost(name, VHostParts(journal, Ids(journal.epoch)))


def restarted(journal: DefinitionJournal, name: str = "/") -> VHost:
    """The virtual host as the next broker process has it."""
    after = DefinitionJournal(journal.epoch + 1)
    after.definitions = dict(sorted(journal.definitions.items(), reverse=True))
    vhost = make(after, name)
    vhost.restore(after.definitions)
    return vhost


@pytest.fixture
def journal() -> DefinitionJournal:
    return DefinitionJournal()


@pytest.fixture
def vhost(journal: DefinitionJournal) -> VHost:
    return make(journal)


EXCHANGES = ["x", "y", "z"]
QUEUES = ["p", "q", "r"]
KEYS = ["", "a", "a.b", "#", "*.b", "a.#.b"]
TYPES = {"x": "topic", "y": "headers", "z": "direct"}

declare_exchange = st.builds(
    lambda name, durable, auto_delete, alternate: (
        "declare_exchange",
        (name, TYPES[name]),
        {
            "durable": durable,
            "auto_delete": auto_delete,
            "arguments": {"alternate-exchange": alternate} if alternate else {},
        },
    ),
    st.sampled_from(EXCHANGES),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "x", "amq.fanout"]),
)
declare_queue = st.builds(
    lambda name, durable, exclusive, limit: (
        "declare_queue",
        (name,),
        {
            "durable": durable,
            "exclusive": exclusive,
            "owner": "me",
            "arguments": {"x-max-length": limit} if limit else {},
        },
    ),
    st.sampled_from(QUEUES),
    st.booleans(),
    st.integers(0, 3).map(lambda number: number == 0),
    st.sampled_from([None, 5]),
)
SOURCES = st.sampled_from([*EXCHANGES, "amq.topic", "amq.fanout"])
binding = st.builds(
    lambda method, source, destination, key, arguments: (
        method,
        (source, destination, key, arguments),
        {"destination_is_queue": destination in QUEUES, "owner": "me"},
    ),
    st.sampled_from(["bind", "bind", "bind", "unbind"]),
    SOURCES,
    st.sampled_from([*QUEUES, *QUEUES, *EXCHANGES]),
    st.sampled_from(KEYS),
    st.sampled_from([{}, {"h": 1}, {"h": "1", "x-match": "any"}]),
)
delete = st.builds(
    lambda name: (
        ("delete_queue", (name,), {"owner": "me"})
        if name in QUEUES
        else ("delete_exchange", (name,), {})
    ),
    st.sampled_from([*QUEUES, *EXCHANGES]),
)
STEPS = st.lists(st.one_of(declare_exchange, declare_queue, binding, binding, delete), max_size=40)


def routes(vhost: VHost, survivors: list[str]) -> dict[str, list[str]]:
    """The ordered route of a few messages through each of the exchanges."""
    found = {}
    for name in [*survivors, "amq.topic", "amq.fanout"]:
        for key in ("", "a", "a.b", "c.b"):
            queues = vhost.resolve(vhost.exchanges[name], key, None)
            found[f"{name} {key}"] = [queue.name for queue in queues]
    return found


def after_steps(steps: list[Any]) -> VHost:
    """A virtual host that has been told all this; it starts with something to bind."""
    vhost = make(DefinitionJournal())
    for name in ("r", "p", "q"):
        vhost.declare_queue(name, durable=True)
    vhost.declare_exchange("x", "topic", durable=True)
    for method, args, kwargs in steps:
        try:
            getattr(vhost, method)(*args, **kwargs)
        except ChannelException:
            pass
    return vhost


@given(STEPS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_restart_keeps_what_is_durable_and_nothing_else(steps: list[Any]) -> None:
    vhost = after_steps(steps)
    journal = vhost.journal
    assert isinstance(journal, DefinitionJournal)
    after = restarted(journal)

    durable = [q for q in vhost.queues.values() if q.durable and q.owner is None]
    assert [(q.id, q.name, q.arguments) for q in after.queues.values()] == [
        (q.id, q.name, q.arguments) for q in durable
    ]
    exchanges = {x.name: x for x in vhost.exchanges.values() if x.durable}
    assert list(after.exchanges) == sorted(after.exchanges)
    assert sorted(after.exchanges) == sorted(exchanges)
    for name, exchange in exchanges.items():
        restored = after.exchanges[name]
        assert (restored.type, restored.alternate, restored.auto_delete) == (
            exchange.type,
            exchange.alternate,
            exchange.auto_delete,
        )
    kept = [b.identity for b in vhost.bindings() if b.durable]
    assert [b.identity for b in after.bindings() if b.source] == kept

    # What is not durable goes by its ordinary deletion; then both route alike, in the same order.
    list(vhost.release_exclusive("me"))
    for queue in list(vhost.queues.values()):
        if not queue.durable:
            vhost.delete_queue(queue.name)
    for exchange in list(vhost.exchanges.values()):
        if not exchange.durable:
            vhost.delete_exchange(exchange.name)
    survivors = [name for name in EXCHANGES if name in vhost.exchanges]
    if all(name in vhost.exchanges for name in exchanges):  # none was auto-deleted on the way
        assert routes(after, survivors) == routes(vhost, survivors)


@given(STEPS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_two_restarts_are_one(steps: list[Any]) -> None:
    vhost = after_steps(steps)
    journal = vhost.journal
    assert isinstance(journal, DefinitionJournal)
    once = restarted(journal)
    assert isinstance(once.journal, DefinitionJournal)
    assert once.journal.definitions == journal.definitions
    twice = restarted(once.journal)
    assert [b.identity for b in twice.bindings()] == [b.identity for b in once.bindings()]


def test_the_order_of_declaration_survives(vhost: VHost, journal: DefinitionJournal) -> None:
    order = ["q5", "q1", "q4", "q2", "q3"]
    for name in order:
        vhost.declare_queue(name, durable=True)
    for name in reversed(order):
        vhost.bind("amq.fanout", name, "", destination_is_queue=True)
    after = restarted(journal)
    assert list(after.queues) == order
    fanout = after.resolve(after.exchanges["amq.fanout"], "", None)
    assert [queue.name for queue in fanout] == order[::-1]


def test_ids_are_new_after_a_restart(vhost: VHost, journal: DefinitionJournal) -> None:
    old = vhost.declare_queue("q", durable=True)
    after = restarted(journal)
    assert after.queues["q"].id == old.id == 1 << 32 | 1
    assert after.declare_queue("new", durable=True).id == 2 << 32 | 1


def test_a_queue_declared_again_has_another_id(vhost: VHost) -> None:
    first = vhost.declare_queue("q")
    assert vhost.declare_queue("q") is first
    vhost.delete_queue("q")
    assert vhost.declare_queue("q").id != first.id


def test_argument_types_survive(vhost: VHost, journal: DefinitionJournal) -> None:
    arguments = {"x-max-length": 5, "x-single-active-consumer": True, "note": b"\xff", "f": 1.0}
    vhost.declare_queue("q", durable=True, arguments=arguments)
    after = restarted(journal)
    assert after.queues["q"].limits.max_length == 5
    after.declare_queue("q", durable=True, arguments=arguments)
    with pytest.raises(ChannelException, match="x-single-active-consumer"):
        after.declare_queue(
            "q", durable=True, arguments=arguments | {"x-single-active-consumer": 1}
        )


def test_other_virtual_hosts_are_left_alone(vhost: VHost, journal: DefinitionJournal) -> None:
    other = VHost("/other", VHostParts(journal, Ids(1, given=100)))
    for host in (vhost, other):
        host.declare_exchange("x", "fanout", durable=True)
        host.declare_queue(f"q{host.name}", durable=True)
        host.bind("x", f"q{host.name}", "", destination_is_queue=True)
    assert list(restarted(journal).queues) == ["q/"]
    assert list(restarted(journal, "/other").queues) == ["q/other"]
    assert len(restarted(journal, "/other").bindings()) == 2


def test_bindings_that_a_crash_left_without_an_end_are_removed(
    vhost: VHost, journal: DefinitionJournal
) -> None:
    vhost.declare_queue("q", durable=True)
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    key = next(key for key in journal.definitions if key.startswith("queue/"))
    del journal.definitions[key]
    after = restarted(journal)
    assert after.bindings() == []
    assert isinstance(after.journal, DefinitionJournal)
    assert after.journal.definitions == {}


def test_an_object_leaves_the_journal_before_its_bindings(
    vhost: VHost, journal: DefinitionJournal
) -> None:
    vhost.declare_queue("q", durable=True)
    vhost.declare_exchange("x", "fanout", durable=True)
    vhost.bind("x", "q", "", destination_is_queue=True)
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    gone: list[str] = []

    def note(key: str, value: bytes | None) -> None:
        gone.append(key.split("/")[0])

    journal.define = note  # type: ignore[method-assign]
    vhost.delete_queue("q")
    assert gone == ["queue", "binding", "binding"]
    gone.clear()
    vhost.delete_exchange("x")
    assert gone == ["exchange"]


def test_a_definition_that_can_not_be_read_stops_the_start(journal: DefinitionJournal) -> None:
    journal.definitions["queue/%2F/q"] = b"\x01"
    with pytest.raises(Corrupt):
        restarted(journal)


class TestAutoDelete:
    """An auto-delete exchange goes with the last binding from it (run against RabbitMQ 3.10.8)."""

    @pytest.fixture(autouse=True)
    def exchange(self, vhost: VHost) -> None:
        vhost.declare_exchange("x", "fanout", auto_delete=True, durable=True)
        vhost.declare_queue("q")

    def test_by_unbinding(self, vhost: VHost, journal: DefinitionJournal) -> None:
        vhost.bind("x", "q", "", destination_is_queue=True)
        vhost.bind("x", "q", "k", destination_is_queue=True)
        vhost.unbind("x", "q", "", destination_is_queue=True)
        assert "x" in vhost.exchanges
        vhost.unbind("x", "q", "k", destination_is_queue=True)
        assert "x" not in vhost.exchanges
        assert journal.definitions == {}

    def test_by_the_deletion_of_the_queue(self, vhost: VHost) -> None:
        vhost.bind("x", "q", "", destination_is_queue=True)
        vhost.delete_queue("q")
        assert "x" not in vhost.exchanges

    def test_not_by_an_unbind_of_nothing(self, vhost: VHost) -> None:
        vhost.unbind("x", "q", "", destination_is_queue=True)
        assert "x" in vhost.exchanges

    def test_not_when_it_loses_what_it_was_bound_to(self, vhost: VHost) -> None:
        vhost.bind("amq.fanout", "x", "", destination_is_queue=False)
        vhost.unbind("amq.fanout", "x", "", destination_is_queue=False)
        assert "x" in vhost.exchanges

    def test_by_its_binding_to_itself(self, vhost: VHost) -> None:
        vhost.bind("x", "x", "", destination_is_queue=False)
        vhost.unbind("x", "x", "", destination_is_queue=False)
        assert "x" not in vhost.exchanges
        assert [binding.source for binding in vhost.bindings()] == [""]

    def test_one_after_the_other_down_a_long_chain(self, vhost: VHost) -> None:
        for number in range(2000):
            vhost.declare_exchange(f"x{number}", "fanout", auto_delete=True)
            vhost.bind(
                f"x{number}",
                f"x{number - 1}" if number else "q",
                "",
                destination_is_queue=not number,
            )
        before = vhost.topology_version
        vhost.delete_queue("q")
        assert list(vhost.exchanges)[-1] == "x"
        assert vhost.topology_version > before


def test_deleting_an_exchange_removes_the_bindings_on_both_sides(
    vhost: VHost, journal: DefinitionJournal
) -> None:
    vhost.declare_exchange("x", "fanout", durable=True)
    vhost.declare_exchange("source", "fanout", durable=True)
    vhost.declare_queue("q", durable=True)
    vhost.bind("x", "q", "", destination_is_queue=True)
    vhost.bind("source", "x", "", destination_is_queue=False)
    vhost.bind("x", "x", "", destination_is_queue=False)
    vhost.delete_exchange("x")
    assert [binding.source for binding in vhost.bindings()] == [""]
    assert vhost.exchanges["source"].downstream == {}
    assert sorted(key.split("/")[0] for key in journal.definitions) == ["exchange", "queue"]


def test_a_deleted_exchange_and_its_bindings_do_not_come_back(
    vhost: VHost, journal: DefinitionJournal
) -> None:
    vhost.declare_queue("q", durable=True)
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    vhost.delete_queue("q")
    vhost.declare_queue("q", durable=True)
    after = restarted(journal)
    assert after.resolve(after.exchanges["amq.fanout"], "", None) == ()
