from __future__ import annotations

import pytest

from mqkit.wire import PROTOCOL_HEADER, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicPublish,
    ChannelClose,
    ConnectionClose,
    ConnectionOpen,
    ExchangeDelete,
)
from mqkit.wire.properties import Properties
from reference_broker.simulation.clients.client import Session
from reference_broker.simulation.clients.memory import Memory
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import Settlement
from reference_broker.simulation.plan.plans import (
    BrokerPlan,
    ChannelPlan,
    ClientPlan,
    Consume,
    QueuePlan,
    Scenario,
)
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.watch.history import History
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


class Meeting:
    """A session with three channels on a real broker, with nothing in between."""

    def __init__(self, *, eager: bool = False) -> None:
        channels = (
            ChannelPlan(prefetch=0, consumes=(Consume("q", alone=True),)),
            ChannelPlan(prefetch=3, channel_prefetch=2),
            ChannelPlan(prefetch=1),
        )
        self.plan = ClientPlan(index=0, channels=channels, pause_us=(1, 2), eager=eager)
        scenario = Scenario(
            seed=0,
            queues=(QueuePlan("q", owner=0),),
            clients=(self.plan,),
            broker=BrokerPlan(4_096),
            fault_pause_us=(1, 2),
            duration_us=1,
        )
        self.peer: LoneClient = LoneBroker().socket()
        self.history = History([], SimulatedClock())
        self.session = Session(
            self.plan, scenario, self.history, Memory(trusts=True), self.peer.send_bytes
        )

    def open(self) -> Meeting:
        self.session.begin()
        self.settle_down()
        return self

    def settle_down(self) -> None:
        while data := self.peer.output():
            self.session.receive_data(data, 1)


def test_it_says_hello_first_and_is_ready_when_everything_is_answered() -> None:
    meeting = Meeting()
    assert not meeting.session.ready
    meeting.open()
    assert meeting.session.ready
    assert len(meeting.session.ready_channels()) == 3
    assert meeting.peer.connection.user_name == "guest"


def test_a_channel_that_is_not_open_yet_is_a_request_without_an_answer() -> None:
    meeting = Meeting()
    standing = meeting.session.standing("client 0")
    assert (standing.is_connected, standing.asked) == (True, 3)
    standing = meeting.open().session.standing("client 0")
    assert (standing.is_connected, standing.asked) == (True, 0)
    meeting.session.end()
    assert not meeting.session.standing("client 0").is_connected


def test_a_queue_has_handed_something_to_the_client_if_it_did_on_any_channel() -> None:
    meeting = Meeting().open()
    first, second, _ = meeting.session.channels
    second.active["q"] = "q/7"
    for times, latest in (({"q": 5}, 5), ({}, 0)):
        first.handed_ms, second.handed_ms = times, {}
        assert meeting.session.standing("client 0").handed_ms == {"q": latest}


def test_each_channel_is_a_session_of_its_own() -> None:
    meeting = Meeting().open()
    assert [channel.session for channel in meeting.session.channels] == [1, 2, 3]
    meeting.session.end()
    meeting.session.end()
    assert meeting.history.counts["sessions"] == 3


def test_its_channels_publish_and_settle_apart() -> None:
    meeting = Meeting().open()
    first, second, _ = meeting.session.channels
    for channel in (first, second, second):
        meeting.peer.send_bytes(channel.publish(("", "q", ("q",)), 100, True))
    meeting.settle_down()
    assert meeting.history.counts["confirmed"] == 3
    assert [delivery.number for delivery in first.held.values()] == [1, 2, 3]
    assert meeting.session.holds
    meeting.peer.send_bytes(first.settle(3, Settlement.ACK, multiple=True))
    assert not meeting.session.holds


def test_an_eager_one_is_ready_on_its_first_channel_before_the_answers() -> None:
    for eager in (True, False):
        meeting = Meeting(eager=eager)
        meeting.session.begin()
        while not meeting.session._opened:
            meeting.session.receive_data(meeting.peer.output(), 1)
        assert meeting.session.ready is eager


def test_a_session_that_ended_hears_nothing() -> None:
    meeting = Meeting().open()
    channel = meeting.session.channels[0]
    meeting.peer.send_bytes(channel.publish(("", "q", ("q",)), 10, True))
    meeting.session.end()
    meeting.settle_down()
    assert meeting.history.counts["confirmed"] == 0
    assert not meeting.session.ready


def test_a_close_because_a_queue_is_not_there_breaks_a_promise() -> None:
    with pytest.raises(Violation, match="definitions: something that was declared"):
        Meeting().open().session.receive_data(method_frame(1, ChannelClose(404, "no queue")), 1)


def test_a_close_for_want_of_a_queue_is_expected_and_another_is_not() -> None:
    refused, stopped, wrong = Meeting().open(), Meeting().open(), Meeting().open()
    refused.session.receive_data(method_frame(1, ChannelClose(403, "in use")), 1)
    stopped.session.receive_data(method_frame(0, ConnectionClose(320, "shutdown")), 1)
    assert refused.session.over
    assert stopped.session.over
    with pytest.raises(Violation, match="406"):
        wrong.session.receive_data(method_frame(1, ChannelClose(406, "no")), 1)


@pytest.mark.parametrize(
    "frames",
    [
        method_frame(0, ConnectionOpen()),
        method_frame(1, BasicAck(delivery_tag=1)),
        method_frame(1, ExchangeDelete()),
        content_frames(1, BasicPublish(), Properties(), b"", 4096),
    ],
)
def test_what_a_broker_may_not_say_is_a_violation(frames: bytes) -> None:
    with pytest.raises(Violation, match="protocol"):
        Meeting().open().session.receive_data(frames, 1)


def test_it_says_hello_first() -> None:
    meeting = Meeting()
    said: list[bytes] = []
    scenario = Scenario(0, (), (meeting.plan,), BrokerPlan(4_096), (1, 2), 1)
    Session(meeting.plan, scenario, meeting.history, Memory(trusts=True), said.append).begin()
    assert said == [PROTOCOL_HEADER]
