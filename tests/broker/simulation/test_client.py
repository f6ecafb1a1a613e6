from __future__ import annotations

import pytest

from mqkit.wire import PROTOCOL_HEADER, content_frames, method_frame
from mqkit.wire.methods import BasicAck, BasicNack, BasicPublish, ChannelClose, ExchangeDelete
from mqkit.wire.properties import Properties
from reference_broker.simulation.checkers import Violation
from reference_broker.simulation.client import CHANNEL, Session, number_of
from reference_broker.simulation.events import Settlement
from reference_broker.simulation.history import History
from reference_broker.simulation.lone_broker import LoneBroker, LoneClient
from reference_broker.simulation.scenario import draw


class Meeting:
    """A session on a real broker, with nothing in between."""

    def __init__(self) -> None:
        scenario = draw(1)
        self.plan = scenario.drainer()
        self.lone = LoneBroker()
        self.peer: LoneClient = self.lone.socket()
        self.history = History([])
        self.session = Session(
            1, self.plan, scenario.setup(self.plan), self.history, self.peer.send_bytes
        )
        self.session.begin()
        self.settle_down()

    def settle_down(self) -> None:
        while data := self.peer.output():
            self.session.receive_data(data, 1)

    def publish(self, count: int, *, persistent: bool = True) -> str:
        queue = self.plan.consumes[0][0]
        for _ in range(count):
            self.peer.send_bytes(self.session.publish("", queue, (queue,), 100, persistent))
        return queue


def test_it_logs_in_and_says_its_setup() -> None:
    meeting = Meeting()
    assert meeting.session.ready
    assert meeting.peer.connection.user_name == "guest"


def test_it_remembers_what_it_published_until_it_is_confirmed() -> None:
    meeting = Meeting()
    meeting.publish(3)
    assert list(meeting.session.unconfirmed) == [1, 2, 3]
    meeting.settle_down()
    assert meeting.session.unconfirmed == {}
    assert meeting.history.counts["confirmed"] == 3


def test_deliveries_are_held_until_they_are_settled() -> None:
    meeting = Meeting()
    meeting.publish(4)
    meeting.settle_down()
    assert [delivery.number for delivery in meeting.session.held.values()] == [1, 2, 3, 4]
    meeting.peer.send_bytes(meeting.session.settle(2, Settlement.ACK, multiple=True))
    meeting.peer.send_bytes(meeting.session.settle(3, Settlement.REQUEUE))
    meeting.settle_down()
    held = {each.number: each.redelivered for each in meeting.session.held.values()}
    assert held == {4: False, 3: True}
    assert meeting.history.counts["ack"] == 2


def test_messages_carry_their_number() -> None:
    meeting = Meeting()
    frames = meeting.session.publish("", "q", ("q",), 5, True)
    assert number_of(frames.partition(b"0000000001")[1] + b"...") == 1


def test_a_session_that_ended_hears_nothing() -> None:
    meeting = Meeting()
    meeting.publish(1)
    meeting.session.end()
    meeting.session.end()
    meeting.settle_down()
    assert meeting.history.counts["confirmed"] == 0
    assert not meeting.session.ready


def test_a_close_for_want_of_a_queue_is_expected_and_another_is_not() -> None:
    refused, wrong = Meeting(), Meeting()
    refused.session.receive_data(method_frame(CHANNEL, ChannelClose(403, "in use")), 1)
    assert refused.session.over
    with pytest.raises(Violation, match="406"):
        wrong.session.receive_data(method_frame(CHANNEL, ChannelClose(406, "no")), 1)


@pytest.mark.parametrize(
    "frames",
    [
        method_frame(CHANNEL, BasicAck(delivery_tag=1)),
        method_frame(CHANNEL, BasicNack(delivery_tag=7)),
        method_frame(CHANNEL, ExchangeDelete()),
        content_frames(CHANNEL, BasicPublish(), Properties(), b"", 4096),
    ],
)
def test_what_a_broker_may_not_say_is_a_violation(frames: bytes) -> None:
    with pytest.raises(Violation, match="protocol"):
        Meeting().session.receive_data(frames, 1)


def test_it_says_hello_first() -> None:
    said: list[bytes] = []
    scenario = draw(1)
    Session(1, scenario.drainer(), [], History([]), said.append).begin()
    assert said == [PROTOCOL_HEADER]
