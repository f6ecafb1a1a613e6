"""origin_session: consumers and settlements of another node's clients, at the home of the queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import BasicConsume, BasicPublish, QueueDeclare, QueueDelete
from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.queues.command_octets import (
    Question,
    encode_attach,
    encode_question,
)
from reference_broker.cluster.queues.kinds import CommandKind
from reference_broker.cluster.queues.linked_home import LinkedHome
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.ports import Settlement, Terms
from reference_broker.errors import ChannelException
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.homes.noting_taker import NotingTaker, message, terms
from reference_broker.testing.lone_broker import FRAME_MAX
from reference_broker.testing.recording_journal import RecordingJournal

_ALL = 1_000_000


def _home(nodes: LinkedBrokers) -> LinkedHome:
    return nodes["a"].queue_links.home("b")


def _publish(nodes: LinkedBrokers, queue: Queue, *bodies: bytes, **properties: Any) -> None:
    for body in bodies:
        nodes.act("a", lambda: _home(nodes).publish([queue.id], message(body, **properties)))  # noqa: B023 - at once
    nodes.settle()


class _Consumer(NotingTaker):
    """A consumer of node a at a queue of node b."""

    def __init__(
        self,
        nodes: LinkedBrokers,
        queue: Queue,
        messages: int = _ALL,
        octets: int = 1 << 40,
        its: Terms | None = None,
        node: str = "a",
    ) -> None:
        super().__init__()
        self._nodes = nodes
        self._queue = queue
        self._node = node
        self.home = nodes[node].queue_links.home("b")
        self.number = nodes.act(node, lambda: self.home.attach(queue.id, its or terms(), self))
        self.grant(messages, octets)

    def grant(self, messages: int, octets: int = 1 << 40) -> None:
        self._nodes.act(self._node, lambda: self.home.grant(self.number, messages, octets))
        self._nodes.settle()

    def end(self, how: Settlement, *numbers: int) -> None:
        self._nodes.act(self._node, lambda: self.home.end_leases(self._queue.id, how, numbers))
        self._nodes.settle()

    def leave(self) -> None:
        self._nodes.act(self._node, lambda: self.home.detach(self.number))
        self._nodes.settle()


def _two(**arguments: Any) -> tuple[LinkedBrokers, Queue]:
    nodes = LinkedBrokers("a", "b")
    return nodes, nodes.declare("b", "q", **arguments)


# Credit


def test_a_consumer_gets_as_many_as_it_was_granted() -> None:
    nodes, queue = _two()
    _publish(nodes, queue, b"1", b"2", b"3", b"4")
    consumer = _Consumer(nodes, queue, messages=0)
    assert consumer.told == ["attached"]
    consumer.grant(2)
    assert consumer.bodies == [b"1", b"2"]
    consumer.grant(3)
    consumer.grant(2)
    assert consumer.bodies == [b"1", b"2", b"3"]
    assert (queue.ready, queue.unacked) == (1, 3)


def test_a_consumer_says_from_where_it_is_attached_after_the_link_too() -> None:
    nodes, queue = _two(x_single_active_consumer=True)
    first, second = _Consumer(nodes, queue), _Consumer(nodes, queue)
    active = queue.rotation.active
    assert active is not None
    assert active.attached_from == ("a", first.number)
    first.leave()
    after = queue.rotation.active
    assert after is not None
    assert after.attached_from == ("a", second.number)
    nodes.cut("a", "b")
    assert (active.attached_from, after.attached_from) == (
        ("a", first.number),
        ("a", second.number),
    )


def test_a_message_goes_while_there_are_any_octets() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue, octets=5)
    _publish(nodes, queue, b"1234", b"5678", b"9")
    assert consumer.bodies == [b"1234", b"5678"]
    consumer.grant(_ALL, octets=9)
    assert consumer.bodies[2:] == [b"9"]


def test_one_without_acks_holds_nothing() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue, its=terms(no_ack=True))
    _publish(nodes, queue, b"1", b"2")
    assert consumer.bodies == [b"1", b"2"]
    assert (queue.ready, queue.unacked, queue.acked) == (0, 0, 2)
    nodes.cut("a", "b")
    nodes.settle()
    assert (queue.ready, queue.requeued, queue.stale_settlements) == (0, 0, 0)


def test_what_is_much_waits_for_the_lane_and_comes() -> None:
    nodes = LinkedBrokers("a", "b", rate=100_000)
    queue = nodes.declare("b", "q")
    bodies = [b"%05d" % number + b"x" * 50_000 for number in range(300)]
    for body in bodies:
        nodes["b"].lone.client().publish("q", body)
    consumer = NotingTaker()
    home = _home(nodes)
    number = nodes.act("a", lambda: home.attach(queue.id, terms(), consumer))
    nodes.act("a", lambda: home.grant(number, _ALL, 1 << 40))
    for _ in range(10):
        nodes.turn()
    assert queue.ready > 100, "they are all under way at once"
    nodes.settle()
    assert consumer.bodies == bodies


def test_several_consumers_take_turns_and_others_are_asked_by_priority() -> None:
    nodes = LinkedBrokers("a", "b", "c")
    queue = nodes.declare("b", "q")
    one = _Consumer(nodes, queue)
    other = _Consumer(nodes, queue, node="c")
    _publish(nodes, queue, b"1", b"2", b"3", b"4")
    assert (len(one.bodies), len(other.bodies)) == (2, 2)
    first = _Consumer(nodes, queue, messages=1, its=terms(x_priority=5))
    _publish(nodes, queue, b"5", b"6")
    assert first.bodies == [b"5"]
    assert queue.ready == 0


def test_delivery_counts_are_shown() -> None:
    nodes, queue = _two(durable=True, x_queue_type="quorum")
    _publish(nodes, queue, b"1")
    consumer = _Consumer(nodes, queue, messages=1)
    assert b"x-delivery-count" not in consumer.contents[0].header
    consumer.end(Settlement.REQUEUE_FAILED, 1)
    consumer.grant(2)
    assert b"x-delivery-count" in consumer.contents[1].header
    assert next(iter(queue.leases.values())).content.header == consumer.contents[0].header


# Refusals


def test_an_exclusive_consumer_is_refused_where_there_is_another() -> None:
    nodes, queue = _two()
    first = _Consumer(nodes, queue, its=terms(exclusive=True))
    second = _Consumer(nodes, queue)
    third = _Consumer(nodes, queue, its=terms(exclusive=True))
    assert first.told == ["attached"]
    for refused in (second, third):
        (error,) = refused.told
        assert isinstance(error, ChannelException)
        assert error.reply_text == "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"
    first.leave()
    assert _Consumer(nodes, queue).told == ["attached"]


def test_a_bad_argument_is_refused_in_the_words_of_the_broker() -> None:
    nodes, queue = _two()
    (error,) = _Consumer(nodes, queue, its=terms(x_priority="high")).told
    assert isinstance(error, ChannelException)
    assert error.code == 406
    assert error.text.startswith("invalid arg 'x-priority' for queue 'q' in vhost '/'")
    assert not queue.consumers


def test_a_queue_that_is_not_there() -> None:
    nodes, queue = _two()
    taker = NotingTaker()
    nodes.act("a", lambda: _home(nodes).attach(queue.id + 1, terms(), taker))
    nodes.settle()
    (error,) = taker.told
    assert isinstance(error, ChannelException)
    assert error.code == 404


# The end of leases


def test_ack() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue)
    _publish(nodes, queue, b"1", b"2", b"3", b"4")
    consumer.end(Settlement.ACK, 2)
    consumer.end(Settlement.ACK, 1, 3, 4)
    assert (queue.acked, queue.unacked, queue.stale_settlements) == (4, 0, 0)


@pytest.mark.parametrize("how", [Settlement.REQUEUE, Settlement.REQUEUE_FAILED])
def test_requeue_puts_messages_back_at_their_places(how: Settlement) -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue, messages=3)
    _publish(nodes, queue, b"1", b"2", b"3", b"4")
    consumer.end(how, 3, 1)
    consumer.grant(6)
    assert consumer.told[4:] == [(4, True, b"1"), (5, True, b"3"), (6, False, b"4")]


def test_a_failed_delivery_is_counted_by_a_quorum_queue() -> None:
    nodes, queue = _two(durable=True, x_queue_type="quorum", x_delivery_limit=0)
    consumer = _Consumer(nodes, queue, messages=2)
    _publish(nodes, queue, b"1", b"2")
    consumer.end(Settlement.REQUEUE, 1)
    assert queue.ready == 1
    consumer.end(Settlement.REQUEUE_FAILED, 2)
    assert (queue.ready, queue.unacked) == (1, 0)


def test_reject_sends_to_the_dead_letter_exchange() -> None:
    nodes = LinkedBrokers("a", "b")
    dead = nodes.declare("b", "dead")
    queue = nodes.declare("b", "q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    consumer = _Consumer(nodes, queue)
    _publish(nodes, queue, b"1", b"2", b"3")
    consumer.end(Settlement.REJECT, 2, 1)
    assert [bytes(each.body) for each in dead.contents.values()] == [b"2", b"1"]
    assert (queue.rejected, queue.unacked) == (2, 1)


def test_unseen_messages_are_as_before() -> None:
    nodes, queue = _two(durable=True, x_queue_type="quorum", x_delivery_limit=0)
    consumer = _Consumer(nodes, queue, messages=2)
    _publish(nodes, queue, b"1", b"2", b"3")
    consumer.end(Settlement.UNSEEN, 2, 1)
    assert (queue.ready, queue.unacked, queue.requeued) == (3, 0, 0)
    consumer.grant(5)
    assert consumer.told[3:] == [(3, False, b"1"), (4, False, b"2"), (5, False, b"3")]


def test_the_consumers_own_place_for_what_comes_back() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue, messages=1, its=terms(x_requeue_position="back"))
    _publish(nodes, queue, b"1", b"2")
    consumer.end(Settlement.REQUEUE, 1)
    consumer.grant(3)
    assert consumer.bodies[1:] == [b"2", b"1"]


def test_stale_ones_are_counted_and_change_nothing() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue, messages=1)
    _publish(nodes, queue, b"1")
    consumer.end(Settlement.ACK, 7, 8)
    consumer.end(Settlement.REQUEUE, 1, 1)
    assert (queue.ready, queue.unacked, queue.stale_settlements) == (1, 0, 3)


@pytest.mark.parametrize("how", list(Settlement))
def test_many_end_in_portions_and_others_are_not_stopped(how: Settlement) -> None:
    nodes = LinkedBrokers("a", "b", units=200)
    nodes.declare("b", "dead")
    queue = nodes.declare("b", "q", x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    other = nodes.declare("b", "other")
    consumer = _Consumer(nodes, queue)
    home = _home(nodes)
    for _ in range(5_000):
        nodes.act("a", lambda: home.publish([queue.id], message()))
    nodes.settle()
    assert queue.unacked == 5_000
    client = nodes["b"].lone.client()
    nodes["b"].lone.overdrawn = 0
    nodes.turns = 0
    told: list[object] = []
    nodes.act("a", lambda: home.grant(consumer.number, 0, 0))
    nodes.act("a", lambda: home.end_leases(queue.id, how, consumer.numbers))
    while queue.unacked > 2_500:
        nodes.turn()
    client.feed(content_frames(1, BasicPublish("", "other"), Properties(), b"", FRAME_MAX))
    for _ in range(3):
        nodes.turn()
    assert (other.ready, queue.unacked > 0) == (1, True)
    nodes.act("a", lambda: home.count(queue.id, told.append))
    nodes.settle()
    assert queue.unacked == 0
    assert nodes.turns > 20
    assert nodes["b"].lone.overdrawn <= 300
    assert len(told) == 1


# Leaving


def test_leaving_comes_after_what_is_under_way() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue)
    _publish(nodes, queue, b"1")
    nodes.act("a", lambda: _home(nodes).publish([queue.id], message(b"2")))
    consumer.leave()
    consumer.leave()
    assert consumer.told[-1] == "detached"
    assert not queue.consumers
    _publish(nodes, queue, b"3")
    assert queue.ready + queue.unacked == 3
    consumer.end(Settlement.ACK, 1)
    assert queue.acked == 1


def test_an_auto_delete_queue_goes_with_its_last_consumer() -> None:
    nodes = LinkedBrokers("a", "b")

    nodes["b"].lone.client().send(1, QueueDeclare("auto", auto_delete=True))
    nodes.settle()
    queue = nodes["b"].lone.broker.vhosts["/"].queues["auto"]
    consumer = _Consumer(nodes, queue)
    consumer.leave()
    assert consumer.told == ["attached", "detached"]
    assert queue.deleted


def test_a_queue_that_is_deleted_tells_its_consumers() -> None:
    nodes, queue = _two()
    consumer, other = _Consumer(nodes, queue, messages=1), _Consumer(nodes, queue)
    _publish(nodes, queue, b"1")
    nodes["b"].lone.client().send(1, QueueDelete("q"))
    nodes.settle()
    assert consumer.told[-1] == other.told[-1] == "gone"
    consumer.leave()
    consumer.end(Settlement.ACK, 1)
    assert _home(nodes).is_up


# The link


def test_a_lost_link_gives_everything_back() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue, messages=2)
    _publish(nodes, queue, b"1", b"2", b"3")
    told: list[object] = []
    nodes.act("a", lambda: _home(nodes).get(queue.id, False, told.append))
    nodes.settle()
    assert (queue.ready, queue.unacked) == (0, 3)
    nodes.cut("a", "b")
    nodes.settle()
    assert consumer.told[-1] == "gone"
    assert (queue.ready, queue.unacked, len(queue.consumers)) == (3, 0, 0)
    nodes.join("a", "b")
    nodes.settle()
    again = _Consumer(nodes, queue, messages=2)
    assert again.told[1:] == [(4, True, b"1"), (5, True, b"2")]


def test_leases_of_an_earlier_link_can_not_be_ended_over_the_next() -> None:
    nodes, queue = _two()
    _Consumer(nodes, queue, messages=1)
    _publish(nodes, queue, b"1")
    nodes.cut("a", "b")
    nodes.join("a", "b")
    nodes.settle()
    again = _Consumer(nodes, queue, messages=1)
    assert again.numbers == [2]
    again.end(Settlement.ACK, 1)
    assert (queue.unacked, queue.acked, queue.stale_settlements) == (1, 0, 1)


def test_a_new_link_ends_the_old_one_and_its_exclusive_consumer_is_no_obstacle() -> None:
    nodes = LinkedBrokers("a", "b", units=50)
    queue = nodes.declare("b", "q")
    consumer = _Consumer(nodes, queue, its=terms(exclusive=True))
    for _ in range(3_000):
        nodes.act("a", lambda: _home(nodes).publish([queue.id], message()))
    nodes.settle()
    nodes.join("a", "b")
    again = NotingTaker()
    while not _home(nodes).is_up:
        nodes.turn()
    nodes.act("a", lambda: _home(nodes).attach(queue.id, terms(exclusive=True), again))
    nodes.settle()
    assert consumer.told[-1] == "gone"
    assert again.told == ["attached"]
    assert (queue.ready, queue.unacked) == (3_000, 0)


def test_acks_go_while_publishes_wait_for_space() -> None:

    nodes = LinkedBrokers("a", "b", journals={"b": RecordingJournal()})
    queue = nodes.declare("b", "q")
    full = nodes.declare("b", "full", durable=True)
    consumer = _Consumer(nodes, queue)
    _publish(nodes, queue, b"1")
    space = nodes["b"].lone.journal.free_space
    space.scarce = True
    space.admits = lambda size_bytes, entries, messages=1: False  # type: ignore[method-assign]
    _publish(nodes, full, b"2", delivery_mode=2)
    assert full.ready == 0
    consumer.end(Settlement.ACK, 1)
    assert (queue.acked, full.ready) == (1, 0)


def test_a_local_consumer_is_told_of_by_counts_too() -> None:
    nodes, queue = _two()
    nodes["b"].lone.client().send(1, BasicConsume("q"))
    _Consumer(nodes, queue)
    told: list[object] = []
    nodes.act("a", lambda: _home(nodes).count(queue.id, told.append))
    nodes.settle()
    assert told == [(0, 0, 2, 2)]


# Wrong peers


def _send(nodes: LinkedBrokers, *items: tuple[int, bytes]) -> str:
    end = next(iter(nodes.cables.values())).ends[0]
    for kind, item in items:
        nodes.act("a", lambda: end.link.send(Lane.DELIVER, kind, (item,)))  # noqa: B023 - at once
    nodes.settle()
    return end.link.reason


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([(15, b"x")], "kind 15 in the lane of deliveries"),
        ([(CommandKind.GRANT, b"x")], "too early"),
        ([(CommandKind.ATTACH, encode_attach(1, 1, terms()))] * 2, "attachment 1 came twice"),
        (
            [(CommandKind.COUNT, encode_question(Question(1, 0, 1)))] * 2,
            "question 1 came after 1",
        ),
    ],
)
def test_a_wrong_peer_loses_its_link(items: Sequence[tuple[int, bytes]], why: str) -> None:
    nodes, _ = _two()
    assert why in _send(nodes, *items)


@pytest.mark.parametrize("arguments", [b"\1", b"\1aS\0\0\0\5x", b"\1a?"])
def test_arguments_that_can_not_be_read_lose_the_link(arguments: bytes) -> None:
    nodes, queue = _two()
    attach = encode_attach(1, queue.id, Terms("t", False, False, arguments))
    assert "arguments can't be read" in _send(nodes, (CommandKind.ATTACH, attach))
    assert not queue.consumers


def test_who_wants_a_queue_for_himself_waits_for_those_who_are_leaving() -> None:
    nodes = LinkedBrokers("a", "b", units=20)
    queue = nodes.declare("b", "q")
    home = _home(nodes)
    for _ in range(500):
        nodes.act("a", lambda: home.attach(queue.id, terms(), NotingTaker()))
    nodes.settle()
    assert len(queue.consumers) == 500
    nodes.join("a", "b")
    while not home.is_up:
        nodes.turn()
    again = NotingTaker()
    nodes.act("a", lambda: home.attach(queue.id, terms(exclusive=True), again))
    nodes.settle()
    assert again.told == ["attached"]
    assert len(queue.consumers) == 1


def test_leases_of_a_deleted_queue_are_no_longer_held() -> None:
    nodes, queue = _two()
    consumer = _Consumer(nodes, queue)
    _publish(nodes, queue, b"1")
    nodes["b"].lone.client().send(1, QueueDelete("q"))
    nodes.settle()
    consumer.end(Settlement.ACK, 1)
    assert queue.stale_settlements == 0
