"""line: one connection of a feature's client, against a broker without a network."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicConsume, BasicGet, ConfirmSelect, Method, QueueDeclare
from reference_broker.core.access.passwords import hash_password
from reference_broker.core.access.users import User
from reference_broker.errors import ReplyCode
from reference_broker.simulation.clients.features.ledger import Ledger, Post
from reference_broker.simulation.clients.features.line import Line, Taken
from reference_broker.simulation.machine.node import USER
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.testing.lone_broker import LoneBroker


class Feature:
    """A feature that writes down its events."""

    expected_closes: tuple[int, ...] = ()
    deletes_consumed = False
    fans_out = False
    vhost = "/"

    def __init__(self) -> None:
        self.ledger = Ledger("test")
        self.events: list[tuple[str, object]] = []

    def topology(self) -> list[Method]:
        return [ConfirmSelect(), QueueDeclare("q"), BasicConsume("q", "q/0")]

    def answered(self, line: Line, method: Method) -> None:
        self.events.append(("answered", type(method).__name__))

    def confirmed(self, line: Line, post: Post) -> None:
        self.events.append(("confirmed", post.number))

    def nacked(self, line: Line, post: Post) -> None:
        self.events.append(("nacked", post.number))

    def delivered(self, line: Line, taken: Taken) -> None:
        self.events.append(("delivered", taken.number))


class Pair:
    """A line, and a broker at the other end."""

    def __init__(self) -> None:
        self.lone = LoneBroker()
        self.lone.broker.users.add(User(USER, hash_password(USER.encode(), b"salt")))
        self.lone.broker.access.allow_everything(USER, "/")
        self.socket = self.lone.socket()
        self.feature = Feature()
        self.sent: list[bytes] = []
        self.line = Line(1, self.feature, self.sent.append, lambda stamp: 1_000 + stamp)

    def exchange(self) -> None:
        """Hand over bytes until nobody has any."""
        while self.sent or self.socket.connection.output:
            for data in self.sent[:]:
                self.sent.remove(data)
                self.socket.send_bytes(data)
            self.line.receive_data(self.socket.output(), 7)

    def publish(self) -> Post:
        post = self.feature.ledger.post(1, [["q"]], 0, 0)
        self.line.publish("", "q", post)
        return post


@pytest.fixture
def pair() -> Pair:
    pair = Pair()
    pair.line.begin()
    pair.exchange()
    return pair


def test_a_line_is_ready_when_its_topology_is_answered(pair: Pair) -> None:
    assert pair.line.ready
    assert [event for event, _ in pair.feature.events] == ["answered"] * 3
    pair.line.ask(QueueDeclare("other"))
    assert not pair.line.ready
    pair.exchange()
    assert pair.line.ready


def test_confirms_and_deliveries_go_to_the_feature(pair: Pair) -> None:
    post = pair.publish()
    pair.exchange()
    assert set(pair.feature.events[3:]) == {("confirmed", post.number), ("delivered", post.number)}
    assert not pair.line.unconfirmed
    ((tag, taken),) = pair.line.held.items()
    assert (taken.queue, taken.consumer, taken.sent_ms) == ("q", "q/0", 1_007)
    assert pair.line.ack(tag) == taken
    pair.exchange()
    assert not pair.lone.broker.vhosts["/"].queues["q"].unacked


def test_all_up_to_a_message_are_settled_together(pair: Pair) -> None:
    for _ in range(5):
        pair.publish()
    pair.exchange()
    _, second, third, *_ = pair.line.held
    assert [taken.number for taken in pair.line.ack_through(second)] == [1, 2]
    assert [taken.number for taken in pair.line.give_back_through(third)] == [3]
    pair.exchange()
    held = [(taken.number, taken.redelivered) for taken in pair.line.held.values()]
    assert held == [(4, False), (5, False), (3, True)]


def test_a_requeued_message_comes_again(pair: Pair) -> None:
    post = pair.publish()
    pair.exchange()
    (tag,) = pair.line.held
    pair.line.give_back(tag, requeue=True)
    pair.exchange()
    (taken,) = pair.line.held.values()
    assert (taken.number, taken.redelivered) == (post.number, True)


def test_an_unexpected_close_is_a_violation(pair: Pair) -> None:
    pair.line.ask(QueueDeclare("missing", passive=True))
    with pytest.raises(Violation, match="a client was closed"):
        pair.exchange()


def test_an_expected_close_is_the_end(pair: Pair) -> None:
    pair.feature.expected_closes = (ReplyCode.NOT_FOUND,)
    pair.line.ask(QueueDeclare("missing", passive=True))
    pair.exchange()
    assert pair.line.over
    assert not pair.line.ready


def test_another_body_is_a_violation(pair: Pair) -> None:
    post = pair.feature.ledger.post(1, [["q"]], 0, 0)
    stranger = pair.lone.client()
    stranger.publish("q", b"wrong", properties=Properties(headers={"n": post.number}))
    with pytest.raises(Violation, match="came with another body"):
        pair.exchange()


def test_a_line_that_closes_is_over_when_that_is_answered(pair: Pair) -> None:
    pair.line.close()
    assert not pair.line.ready
    assert not pair.line.over
    pair.exchange()
    assert pair.line.over
    assert pair.line.closed_with == 0


def test_an_empty_queue_is_an_answer(pair: Pair) -> None:
    pair.line.ask(BasicGet("q"))
    pair.exchange()
    assert pair.line.ready
    assert pair.feature.events[-1] == ("answered", "BasicGetEmpty")
