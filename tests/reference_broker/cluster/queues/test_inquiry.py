"""inquiry: get, count and purge are answered with all that the same node did before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqkit.wire.methods import QueueBind, QueueDeclare, QueueDelete
from reference_broker.cluster.queues.command_octets import OPEN_MAX
from reference_broker.cluster.queues.linked_home import LinkedHome
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.ports import Counts, Got, Purged, Settlement, Told
from reference_broker.errors import ChannelException
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.homes.noting_taker import NotingTaker, message, terms
from reference_broker.testing.recording_journal import RecordingJournal


def _home(nodes: LinkedBrokers) -> LinkedHome:
    return nodes["a"].queue_links.home("b")


def _ask(nodes: LinkedBrokers, ask: Callable[[LinkedHome, Told], None]) -> Any:
    """The answer to a question."""
    told: list[Any] = []
    nodes.act("a", lambda: ask(_home(nodes), told.append))
    assert told == [], "never within the call"
    nodes.settle()
    (answer,) = told
    return answer


def _got(answer: Got) -> tuple[int, bool, bytes | None, int]:
    body = None if answer.content is None else bytes(answer.content.body)
    return answer.number, answer.redelivered, body, answer.left


def _publish(nodes: LinkedBrokers, queue: Queue, *bodies: bytes, **properties: Any) -> None:
    for body in bodies:
        content = message(body, **properties)
        nodes.act("a", lambda it=content: _home(nodes).publish([queue.id], it))  # type: ignore[misc]


def test_get_sees_what_was_published_and_ended_just_before() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    _publish(nodes, queue, b"1", b"2")
    first = _ask(nodes, lambda home, told: home.get(queue.id, False, told))
    assert _got(first) == (1, False, b"1", 1)
    home = _home(nodes)
    nodes.act("a", lambda: home.end_leases(queue.id, Settlement.REQUEUE, [1]))
    again = _ask(nodes, lambda home, told: home.get(queue.id, True, told))
    assert _got(again) == (2, True, b"1", 1)
    assert (queue.unacked, queue.acked, queue.got, queue.got_no_ack) == (0, 1, 2, 1)
    last = _ask(nodes, lambda home, told: home.get(queue.id, False, told))
    assert _got(last) == (3, False, b"2", 0)
    empty = _ask(nodes, lambda home, told: home.get(queue.id, False, told))
    assert _got(empty) == (0, False, None, 0)
    assert queue.got_empty == 1


def test_counts_and_purge_see_it_too() -> None:
    nodes = LinkedBrokers("a", "b", rate=2_000)
    queue = nodes.declare("b", "q")
    _publish(nodes, queue, *[b"x" * 1_000] * 20)
    counts = _ask(nodes, lambda home, told: home.count(queue.id, told))
    assert counts == Counts(20, 0, 0, 0)
    _publish(nodes, queue, *[b"x" * 1_000] * 20)
    purged = _ask(nodes, lambda home, told: home.purge(queue.id, told))
    assert purged == Purged(40)
    assert queue.ready == 0


def test_a_question_after_a_new_link_waits_for_nothing_of_the_old_one() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    nodes.cut("a", "b")
    _publish(nodes, queue, b"lost")
    nodes.settle()
    nodes.join("a", "b")
    nodes.settle()
    assert _ask(nodes, lambda home, told: home.count(queue.id, told)) == Counts(0, 0, 0, 0)
    _publish(nodes, queue, b"1")
    assert _ask(nodes, lambda home, told: home.count(queue.id, told)) == Counts(1, 0, 0, 0)


def test_counts_are_of_the_consumers_of_all_nodes_and_count_as_use() -> None:
    nodes = LinkedBrokers("a", "b", "c")
    queue = nodes.declare("b", "q", x_expires=10_000, x_queue_type="quorum", durable=True)
    lone = nodes["b"].lone
    lone.pass_time(6)
    for _ in range(2):
        counts = _ask(nodes, lambda home, told: home.count(queue.id, told))
        lone.pass_time(6)
    assert not queue.deleted
    assert counts == Counts(0, 0, 0, 0)
    for name in ("a", "c"):
        home = nodes[name].queue_links.home("b")
        nodes.act(name, lambda it=home: it.attach(queue.id, terms(), NotingTaker()))  # type: ignore[misc]
    _publish(nodes, queue, b"1")
    got = _ask(nodes, lambda home, told: home.get(queue.id, False, told))
    assert got.number == 1
    counts = _ask(nodes, lambda home, told: home.count(queue.id, told))
    assert counts == Counts(0, 1, 2, 3)


def test_a_purge_of_what_is_on_disk_is_answered_when_that_is() -> None:
    journal = RecordingJournal()
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    queue = nodes.declare("b", "q", durable=True)
    _publish(nodes, queue, b"1", delivery_mode=2)
    nodes.settle()
    nodes["b"].lone.sync()
    told: list[object] = []
    nodes.act("a", lambda: _home(nodes).purge(queue.id, told.append))
    nodes.settle()
    assert (queue.ready, told) == (0, [])
    nodes["b"].lone.sync()
    nodes.settle()
    assert told == [Purged(1)]


def test_get_waits_for_a_message_that_has_to_be_read_from_disk() -> None:
    journal = RecordingJournal()
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    queue = nodes.declare("b", "q", durable=True)
    _publish(nodes, queue, b"1", delivery_mode=2)
    nodes.settle()
    nodes["b"].lone.sync()
    nodes.act("b", lambda: queue.backlog.let_go(queue.index.head_sequence() or 0))
    told: list[Any] = []
    nodes.act("a", lambda: _home(nodes).get(queue.id, False, told.append))
    nodes.settle()
    assert told == []
    answer = journal.answer()
    lone = nodes["b"].lone
    lone.broker.fetched([answer], lone.now_s, lone.wall_ms)
    nodes.settle()
    assert _got(told[0]) == (1, False, b"1", 0)


def test_a_queue_that_is_gone_is_an_error() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    nodes["b"].lone.client().send(1, QueueDelete("q"))
    nodes.settle()
    for ask in (
        lambda home, told: home.get(queue.id, False, told),
        lambda home, told: home.count(queue.id, told),
        lambda home, told: home.purge(queue.id, told),
    ):
        error = _ask(nodes, ask)
        assert isinstance(error, ChannelException)
        assert error.code == 404


def test_questions_of_very_many_channels_are_all_answered() -> None:
    nodes = LinkedBrokers("a", "b", units=1_000)
    queue = nodes.declare("b", "q")
    numbers: list[int] = []
    home = _home(nodes)
    count = OPEN_MAX + 100
    _publish(nodes, queue, *[b"x"] * count)
    for _ in range(count):
        nodes.act("a", lambda: home.get(queue.id, True, lambda it: numbers.append(it.number)))  # type: ignore[union-attr]
    nodes.settle()
    assert numbers == list(range(1, count + 1))
    assert home.is_up


def test_a_get_takes_nothing_when_its_link_is_lost_before() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    nodes.declare("b", "other")
    b = nodes["b"]
    b.hears = False  # so the publish before the get waits, and the get does
    told: list[Any] = []
    nodes["a"].lone.client().send(1, QueueDeclare("late"))
    nodes.settle()
    late = nodes["a"].lone.broker.vhosts["/"].queues["late"]
    _publish(nodes, late, b"1")
    nodes.act("a", lambda: _home(nodes).get(queue.id, False, told.append))
    nodes.settle()
    assert told == []
    nodes["b"].lone.client().publish("q")
    nodes.cut("a", "b")
    b.hears = True
    nodes.settle()
    assert (queue.ready, queue.unacked) == (1, 0)
    (error,) = told
    assert error.text == "home node 'mqkit@b' of the queue went down"


def test_what_goes_to_another_node_is_traced_there() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    trace = nodes.declare("b", "trace")
    nodes["b"].lone.client().send(1, QueueBind("trace", "amq.rabbitmq.trace", "deliver.#"))
    nodes.settle()
    vhost = nodes["b"].lone.broker.vhosts["/"]
    nodes.act("b", lambda: vhost.describe(VHostInfo(tracing=True)))
    _publish(nodes, queue, b"1", b"2")
    _ask(nodes, lambda home, told: home.get(queue.id, True, told))
    home = _home(nodes)
    number = nodes.act("a", lambda: home.attach(queue.id, terms(), NotingTaker()))
    nodes.act("a", lambda: home.grant(number, 5, 100))
    nodes.settle()
    assert (queue.got, queue.delivered) == (1, 1)
    assert trace.ready == 0


def test_a_get_whose_message_comes_after_the_link_was_lost_takes_nothing() -> None:
    journal = RecordingJournal()
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    queue = nodes.declare("b", "q", durable=True)
    _publish(nodes, queue, b"1", delivery_mode=2)
    nodes.settle()
    nodes["b"].lone.sync()
    nodes.act("b", lambda: queue.backlog.let_go(queue.index.head_sequence() or 0))
    told: list[Any] = []
    nodes.act("a", lambda: _home(nodes).get(queue.id, False, told.append))
    nodes.settle()
    nodes.cut("a", "b")
    lone = nodes["b"].lone
    lone.broker.fetched([journal.answer()], lone.now_s, lone.wall_ms)
    nodes.settle()
    assert (queue.ready, queue.unacked, queue.got) == (1, 0, 0)


def test_a_get_waits_for_room_before_it_takes_a_message() -> None:
    nodes = LinkedBrokers("a", "b", rate=50_000)
    full, queue = nodes.declare("b", "full"), nodes.declare("b", "q")
    client = nodes["b"].lone.client()
    for _ in range(100):
        client.publish("full", b"x" * 100_000)
    client.publish("q")
    home, taker = _home(nodes), NotingTaker()
    told: list[object] = []
    number = nodes.act("a", lambda: home.attach(full.id, terms(), taker))
    nodes.act("a", lambda: home.grant(number, 1 << 30, 1 << 40))
    for _ in range(5):
        nodes.turn()
    nodes.act("a", lambda: home.get(queue.id, False, told.append))
    for _ in range(5):
        nodes.turn()
    assert (queue.ready, told) == (1, [])
    nodes.settle()
    assert len(told) == 1
    assert (queue.unacked, len(taker.told)) == (1, 101)


def test_a_consumer_that_holds_several_messages_of_a_quorum_queue_is_one() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q", x_queue_type="quorum", durable=True)
    home = _home(nodes)
    number = nodes.act("a", lambda: home.attach(queue.id, terms(), NotingTaker()))
    nodes.act("a", lambda: home.grant(number, 5, 100))
    _publish(nodes, queue, b"1", b"2", b"3")
    nodes.settle()
    counts = _ask(nodes, lambda home, told: home.count(queue.id, told))
    assert counts == Counts(0, 3, 1, 1)
    nodes.act("a", lambda: home.detach(number))
    counts = _ask(nodes, lambda home, told: home.count(queue.id, told))
    assert counts == Counts(0, 3, 0, 1)


def test_a_purge_that_had_to_wait_is_not_done_when_its_link_is_lost() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    _publish(nodes, queue, b"1")
    nodes.settle()
    nodes.act("b", queue.begin_return)
    told: list[object] = []
    nodes.act("a", lambda: _home(nodes).purge(queue.id, told.append))
    nodes.settle()
    assert told == []
    nodes.cut("a", "b")
    nodes.act("b", queue.end_return)
    nodes.settle()
    assert (queue.ready, queue.purged, len(told)) == (1, 0, 1)
