"""A channel whose request takes more than a turn stops its own frames, and nothing else. What it
has not finished is neither confirmed nor closed."""

from __future__ import annotations

from functools import partial

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicNack,
    BasicPublish,
    BasicQos,
    BasicQosOk,
    BasicReturn,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ConfirmSelect,
    ConnectionClose,
    ConnectionCloseOk,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.core.work.budget import HEARTBEAT_UNITS
from reference_broker.testing.lone_broker import FRAME_MAX
from reference_broker.testing.two_tenants import TwoTenants

HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"
QUEUES = 1_000
UNITS = 50


def methods(*all_methods: Method, channel: int = 1) -> bytes:
    return b"".join(method_frame(channel, method) for method in all_methods)


def publish(exchange: str, key: str = "", body: bytes = b"m", *, mandatory: bool = False) -> bytes:
    method = BasicPublish(exchange, key, mandatory)
    return content_frames(1, method, Properties(), body, FRAME_MAX)


@pytest.fixture
def tenants() -> TwoTenants:
    """A client with two channels, of which the first publishes with confirms, and a fanout of a
    thousand queues."""
    tenants = TwoTenants()
    tenants.busy = tenants.lone.client(channels=(1, 2), heartbeat_s=60)
    tenants.busy.send(1, ExchangeDeclare("all", "fanout"))
    for number in range(QUEUES):
        tenants.busy.send(1, QueueDeclare(f"q{number}"), QueueBind(f"q{number}", "all"))
    tenants.busy.send_bytes(publish("all"))  # so that the route is known
    tenants.busy.send(1, ConfirmSelect())
    tenants.bound(UNITS)
    return tenants


def stored(tenants: TwoTenants) -> int:
    return sum(queue.ready for queue in tenants.lone.broker.vhosts["/"].queues.values()) - QUEUES


def state_of(tenants: TwoTenants) -> ChannelState:
    return tenants.busy.connection.channels[1].state


def test_a_publish_that_is_half_distributed_is_not_confirmed(tenants: TwoTenants) -> None:
    busy = tenants.busy
    busy.feed(publish("all"))
    seen = []
    while not (told := busy.methods()):
        seen.append(stored(tenants))
        assert busy.connection.channels[1].confirms is not None
        assert busy.connection.channels[1].confirms.published == 0
        tenants.turn()

    assert len({each for each in seen if 0 < each < QUEUES}) > 5
    assert told == [BasicAck(1)]
    assert stored(tenants) == QUEUES


def test_those_before_it_are_confirmed_meanwhile_and_a_return_counts_none_of_it(
    tenants: TwoTenants,
) -> None:
    busy = tenants.busy
    busy.feed(publish("", "q0") + publish("all") + publish("", "nobody", mandatory=True))
    told = []
    while stored(tenants) < QUEUES:
        told += busy.methods()
        assert told in ([], [BasicAck(1)])
        tenants.turn()
    assert told == [BasicAck(1)]
    while tenants.busy.connection.is_busy or not tenants.turn():
        tenants.turn()

    kinds = [(type(each), getattr(each, "delivery_tag", 0)) for each in busy.methods()]
    assert kinds == [(BasicAck, 2), (BasicReturn, 0), (BasicAck, 3)]


def test_a_publish_that_one_of_its_queues_refused_is_nacked_at_the_end(
    tenants: TwoTenants,
) -> None:
    tenants.lone.broker.budget.units = 1 << 40
    arguments = {"x-max-length": 0, "x-overflow": "reject-publish"}
    tenants.busy.send(2, QueueDeclare("full", arguments=arguments), QueueBind("full", "all"))
    tenants.busy.send_bytes(publish("all"))
    assert [type(each) for each in tenants.busy.methods()][-1] is BasicNack
    tenants.bound(UNITS)
    tenants.busy.feed(publish("all"))
    tenants.play(bool)

    (nack,) = tenants.busy.methods()
    assert isinstance(nack, BasicNack)
    assert nack.delivery_tag == 2
    assert stored(tenants) == 2 * QUEUES, "the others have it"


def test_later_frames_of_the_channel_wait_and_are_counted(tenants: TwoTenants) -> None:
    connection = tenants.busy.connection
    tenants.busy.feed(publish("all"))
    tenants.turn()
    assert state_of(tenants) is ChannelState.SUSPENDED
    tenants.busy.feed(methods(BasicQos(0, 1, False), QueuePurge("q0")) + publish("", "q0"))
    parked = connection.channels[1].parked
    while len(parked) < 5:
        assert state_of(tenants) is ChannelState.SUSPENDED
        tenants.turn()

    assert connection.parked_bytes > sum(len(payload) for _, payload in parked)
    assert connection.waiting_bytes >= connection.parked_bytes
    tenants.play(bool)

    assert tenants.busy.methods() == [BasicQosOk(), QueuePurgeOk(2), BasicAck(2, True)]
    assert connection.parked_bytes == 0


def test_other_channels_and_heartbeats_go_on(tenants: TwoTenants) -> None:
    tenants.busy.feed(publish("all"))
    tenants.turn()
    assert tenants.busy.connection.heartbeat is not None
    tenants.busy.connection.heartbeat.received = False
    tenants.busy.feed(
        HEARTBEAT
        + methods(QueueDeclare("q5", passive=True), channel=2)
        + methods(ChannelOpen(), channel=3)
    )
    told: list[Method] = []
    while len(told) < 2:
        tenants.turn()
        told += tenants.busy.methods()

    assert state_of(tenants) is ChannelState.SUSPENDED
    assert tenants.busy.connection.heartbeat.received
    assert [type(each) for each in told] == [QueueDeclareOk, ChannelOpenOk]


def test_connection_close_waits_for_what_was_asked_before(tenants: TwoTenants) -> None:
    tenants.busy.feed(publish("all") + method_frame(0, ConnectionClose()))
    tenants.turn()
    assert tenants.busy.connection.state is ConnectionState.OPEN
    tenants.play(bool)

    assert tenants.busy.methods() == [ConnectionCloseOk()], "no confirm, as without a bound"
    assert stored(tenants) == QUEUES


def test_a_socket_that_is_gone_does_not_undo_what_was_asked_before(tenants: TwoTenants) -> None:
    lone, connection = tenants.lone, tenants.busy.connection
    tenants.busy.feed(publish("all") + publish("", "q0"))
    connection.receive_eof(lone.now_s, lone.wall_ms)
    assert not connection.closed
    tenants.play(bool)

    assert connection.closed
    assert stored(tenants) == QUEUES + 1, "and what came in behind it"
    assert connection.id not in lone.broker.connections


def test_close_ok_comes_when_all_is_given_back() -> None:
    tenants = TwoTenants()
    tenants.busy.send(1, QueueDeclare("q"))
    for _ in range(2_000):
        tenants.busy.send_bytes(publish("", "q"))
    tenants.busy.send(1, BasicConsume("q", "c"))
    while tenants.busy.output():
        tenants.busy.resume_writing()
    tenants.bound(UNITS)
    queue = tenants.lone.broker.vhosts["/"].queues["q"]
    tenants.busy.feed(methods(ChannelClose()))
    partly = 0
    while not (told := tenants.busy.methods()):
        partly += 0 < queue.ready < 2_000
        tenants.turn()

    assert partly > 5
    assert told == [ChannelCloseOk()]
    assert (queue.ready, queue.unacked) == (2_000, 0)


def test_connection_close_ok_comes_when_all_is_given_back() -> None:
    tenants = TwoTenants()
    tenants.busy.send(1, QueueDeclare("q"), QueueDeclare("mine", exclusive=True))
    for _ in range(500):
        tenants.busy.send_bytes(publish("", "q"))
    tenants.busy.send(1, *[BasicConsume("q", f"c{number}") for number in range(500)])
    while tenants.busy.output():
        tenants.busy.resume_writing()
    tenants.bound(UNITS)
    queues = tenants.lone.broker.vhosts["/"].queues
    queue = queues["q"]
    tenants.busy.feed(method_frame(0, ConnectionClose()))
    turns = 0
    while not (told := tenants.busy.methods()):
        tenants.turn()
        turns += 1

    assert turns > 5
    assert told == [ConnectionCloseOk()]
    assert (queue.ready, queue.unacked, list(queues)) == (500, 0, ["q"])


def test_a_channel_that_is_opened_behind_a_long_close_has_its_frames_handled() -> None:
    tenants = TwoTenants()
    tenants.busy.send(1, QueueDeclare("q"))
    for _ in range(500):
        tenants.busy.send_bytes(publish("", "q"))
    tenants.busy.send(1, BasicConsume("q", "c"))
    tenants.bound(UNITS)
    tenants.busy.feed(methods(ChannelClose(), ChannelOpen(), QueueDeclare("q", passive=True)))
    tenants.play(bool)

    assert [each.method for each in tenants.told()] == [
        ChannelCloseOk(),
        ChannelOpenOk(),
        QueueDeclareOk("q", 500, 0),
    ]


def test_an_error_behind_a_long_request_closes_the_channel_in_order(tenants: TwoTenants) -> None:
    tenants.busy.feed(publish("all") + publish("missing") + publish("all"))
    tenants.play(bool)

    assert [type(each) for each in tenants.busy.methods()] == [ChannelClose]
    assert stored(tenants) == QUEUES


def test_a_queue_that_is_deleted_before_its_portion_has_not_got_the_message(
    tenants: TwoTenants,
) -> None:
    tenants.busy.feed(publish("all"))
    tenants.turn()
    vhost = tenants.lone.broker.vhosts["/"]
    last = list(vhost.queues)[-1]
    assert 0 < stored(tenants) < QUEUES
    other = tenants.lone.client()
    other.feed(methods(QueueDelete(last)))
    tenants.play(bool)

    assert [type(each) for each in other.methods()] == [QueueDeleteOk]
    assert tenants.busy.methods() == [BasicAck(1)]
    assert {queue.ready for queue in vhost.queues.values()} == {2}


# Frames that do nothing


def test_ten_thousand_heartbeats_cost_their_own_connection_its_turn() -> None:
    tenants = TwoTenants()
    tenants.bound(2_000)
    turns = tenants.play(partial(tenants.busy.feed, HEARTBEAT * 10_000))

    # A turn may be overdrawn by the last one.
    assert turns >= 10_000 * HEARTBEAT_UNITS // (2_000 + HEARTBEAT_UNITS)
    assert tenants.longest_wait <= 1, "another connection's publish is handled in the next turn"
    assert tenants.lone.overdrawn <= HEARTBEAT_UNITS
