"""Heartbeats of a connection, in both directions."""

from __future__ import annotations

from mqkit.wire import HEARTBEAT_FRAME
from mqkit.wire.methods import BasicQos, ConnectionCloseOk, QueueDeclare
from reference_broker.core.base.limits import Limits
from reference_broker.testing.lone_broker import LoneBroker


def test_a_silent_peer_is_dropped_after_two_missed_heartbeats() -> None:
    lone = LoneBroker()
    client = lone.client(heartbeat_s=10)
    lone.pass_time(19)
    assert not client.connection.closed
    lone.pass_time(10)
    assert client.connection.closed
    assert client.connection.end_reason == "missed heartbeats from client"


def test_any_octet_counts_as_a_heartbeat() -> None:
    lone = LoneBroker()
    client = lone.client(heartbeat_s=10)
    for octet in HEARTBEAT_FRAME * 3:
        lone.pass_time(9)
        client.send_bytes(bytes((octet,)))
    assert not client.connection.closed


def test_the_broker_sends_heartbeats_only_when_it_has_nothing_else_to_say() -> None:
    lone = LoneBroker()
    client = lone.client(heartbeat_s=10)
    for _ in range(4):
        lone.pass_time(5.1)
        client.send(1, BasicQos())
        client.received()
    assert client.heartbeats == 0
    for _ in range(4):
        lone.pass_time(5.1)
        client.send_bytes(HEARTBEAT_FRAME)
        client.received()
    assert client.heartbeats >= 2


def test_no_heartbeat_was_asked_for() -> None:
    lone = LoneBroker()
    client = lone.client(heartbeat_s=0)
    lone.pass_time(100_000)
    assert client.received() == []
    assert client.heartbeats == 0
    assert not client.connection.closed


def test_a_client_that_is_not_read_is_not_blamed_for_silence() -> None:
    lone = LoneBroker(limits=Limits(memory_high_watermark_bytes=10_000))
    client = lone.client(heartbeat_s=10)
    client.send(1, QueueDeclare("q"))
    client.publish("q", b"x" * 20_000)
    assert not client.connection.wants_reading
    lone.pass_time(100)
    assert not client.connection.closed


def test_a_connection_that_is_being_closed_is_still_watched_and_a_closed_one_is_not() -> None:
    lone = LoneBroker()
    client = lone.client(heartbeat_s=4)
    client.send(99, BasicQos())
    client.received()
    lone.pass_time(4.1)
    client.received()
    assert client.heartbeats == 1
    client.send(0, ConnectionCloseOk())
    lone.pass_time(100)
    assert client.output() == b""
