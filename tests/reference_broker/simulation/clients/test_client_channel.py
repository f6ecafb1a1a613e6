from __future__ import annotations

from collections.abc import Callable

import pytest

from mqkit.wire import Command, encode_header
from mqkit.wire.methods import BasicAck, BasicDeliver, BasicNack, ExchangeDelete
from reference_broker.simulation.clients.client_channel import ClientChannel
from reference_broker.simulation.clients.memory import Memory
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import Message, RemovalKind, Settlement
from reference_broker.simulation.events.marking import properties_of
from reference_broker.simulation.plan.plans import ChannelPlan, Consume, QueuePlan, Route
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.watch.history import History
from reference_broker.testing.lone_broker import LoneBroker

QUEUE = QueuePlan("q")
ROUTE: Route = ("", "q", ("q",))
SENT = 1


class Meeting:
    """A channel on a real broker, with nothing in between."""

    def __init__(self, plan: ChannelPlan | None = None, queue: QueuePlan = QUEUE) -> None:
        clock = SimulatedClock()
        clock.stamp()
        self.history = History([], clock)
        self.plan = plan or ChannelPlan(prefetch=0, consumes=(Consume("q"),))
        self.channel = ClientChannel(1, self.plan, self.history, Memory(trusts=True), 1, 131_072)
        self.peer = LoneBroker().client()
        self.do(self.channel.begin([queue.declaration()]))

    def do(self, frames: bytes) -> None:
        self.peer.send_bytes(frames)
        for received in self.peer.received():
            command = Command(received.method, received.header, received.body)
            self.channel.receive(command, SENT)

    def publish(self, count: int, size: int = 100) -> None:
        for _ in range(count):
            self.do(self.channel.publish(ROUTE, size, True))

    def numbers(self) -> dict[int, bool]:
        return {each.number: each.redelivered for each in self.channel.held.values()}


def test_it_remembers_what_it_published_until_it_is_confirmed() -> None:
    meeting = Meeting()
    frames = [meeting.channel.publish(ROUTE, 10, True) for _ in range(3)]
    assert list(meeting.channel.unconfirmed) == [1, 2, 3]
    meeting.do(b"".join(frames))
    assert meeting.channel.unconfirmed == {}
    assert meeting.history.counts["confirmed"] == 3


def test_deliveries_are_held_until_they_are_settled() -> None:
    meeting = Meeting()
    meeting.publish(4)
    assert list(meeting.numbers()) == [1, 2, 3, 4]
    meeting.do(meeting.channel.settle(2, Settlement.ACK, multiple=True))
    meeting.do(meeting.channel.settle(3, Settlement.REQUEUE))
    assert meeting.numbers() == {4: False, 3: True}
    assert meeting.history.counts["ack"] == 2


def test_what_needs_no_ack_is_done_with_at_once() -> None:
    meeting = Meeting(ChannelPlan(prefetch=0, consumes=(Consume("q", no_ack=True),)))
    meeting.publish(2)
    assert not meeting.channel.held
    assert meeting.history.counts["auto-ack"] == 2


def test_get_gives_one_message_or_none() -> None:
    meeting = Meeting(ChannelPlan(prefetch=1, gets=(Consume("q"), Consume("q", no_ack=True))))
    acked, blind = meeting.plan.gets
    meeting.publish(2)
    meeting.do(meeting.channel.get(acked))
    meeting.do(meeting.channel.get(blind))
    meeting.do(meeting.channel.get(acked))
    assert meeting.numbers() == {1: False}
    assert meeting.history.counts["auto-ack"] == 1


def test_a_consumer_is_cancelled_and_begun_again_as_another() -> None:
    meeting = Meeting()
    meeting.do(meeting.channel.cancel("q"))
    meeting.publish(1)
    assert not meeting.channel.held
    meeting.do(meeting.channel.consume(Consume("q")))
    (delivery,) = meeting.channel.held.values()
    assert delivery.consumer == "q/1"


def test_a_purge_notes_what_is_held() -> None:
    meeting = Meeting(ChannelPlan(prefetch=1, consumes=(Consume("q", alone=True),)))
    meeting.publish(3)
    meeting.do(meeting.channel.remove(RemovalKind.PURGE, QUEUE))
    assert meeting.numbers() == {1: False}
    meeting.do(meeting.channel.settle(1, Settlement.ACK))
    assert not meeting.channel.held


def test_a_deleted_queue_is_declared_and_consumed_again() -> None:
    meeting = Meeting(ChannelPlan(prefetch=1, consumes=(Consume("q", alone=True),)))
    meeting.publish(3)
    meeting.do(meeting.channel.remove(RemovalKind.DELETE, QUEUE))
    assert meeting.channel.answered
    assert meeting.channel.active == {"q": "q/1"}
    meeting.publish(1)
    assert list(meeting.numbers()) == [1, 4]


def delivery_of(history: History, change: Callable[[Message], object]) -> Command:
    message = history.publish(Message(0, 1, ("q",), True, 0, size=20))
    header, body = encode_header(20, properties_of(message)), message.body
    change(message)
    return Command(BasicDeliver("q/0", 1, False, "", "q"), header, body)


@pytest.mark.parametrize(
    "change",
    [
        lambda message: setattr(message, "size", 19),
        lambda message: setattr(message, "number", 2),
        lambda message: setattr(message, "priority", 3),
    ],
)
def test_what_comes_as_another_message_is_a_violation(
    change: Callable[[Message], object],
) -> None:
    meeting = Meeting()
    with pytest.raises(Violation, match="content"):
        meeting.channel.receive(delivery_of(meeting.history, change), SENT)


def test_a_message_that_nobody_published_is_a_violation() -> None:
    meeting = Meeting()
    command = delivery_of(meeting.history, lambda message: None)
    header = encode_header(20, properties_of(Message(7, 1, ("q",), True, 0)))
    with pytest.raises(Violation, match="number 7"):
        meeting.channel.receive(Command(command.method, header, command.body), SENT)


@pytest.mark.parametrize("method", [BasicAck(1), BasicNack(7), ExchangeDelete()])
def test_what_a_broker_may_not_say_is_a_violation(method: BasicAck) -> None:
    with pytest.raises(Violation, match="protocol"):
        Meeting().channel.receive(Command(method), SENT)
