"""lone_broker: bytes from client to broker and back, on a clock that the test moves."""

from __future__ import annotations

import pytest

from mqkit.wire import PERSISTENT, Properties
from mqkit.wire.methods import BasicAck, BasicConsume, BasicDeliver, QueueDeclare, QueueDeclareOk
from reference_broker.core.base.limits import Limits
from reference_broker.core.broker import TooManyConnections
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal


def test_a_client_asks_and_reads_the_answer_once() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"))
    assert client.methods() == [QueueDeclareOk("q", 0, 0)]
    assert client.methods() == []


def test_a_confirm_waits_for_the_sync_of_a_journal_that_is_not_always_synced() -> None:
    lone = LoneBroker(RecordingJournal())
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    lone.sync()
    client.select_confirms()
    client.publish("q", b"body", properties=Properties(delivery_mode=PERSISTENT))
    assert client.methods() == []
    lone.sync()
    assert client.methods() == [BasicAck(1)]
    assert lone.journal.synced == lone.journal.tail


def test_time_passes_with_all_ticks_that_the_broker_asks_for() -> None:
    lone = LoneBroker()
    client = lone.client(heartbeat_s=2)
    before = lone.wall_ms
    lone.pass_time(2.5)
    assert lone.wall_ms == before + 2_500
    client.received()
    assert client.heartbeats > 0


def test_each_socket_is_a_connection_of_the_broker_until_it_disconnects() -> None:
    lone = LoneBroker()
    client = lone.client()
    assert isinstance(client, LoneClient)
    assert len(lone.broker.connections) == 1
    client.disconnect()
    assert not lone.broker.connections


def test_content_is_read_with_its_channel() -> None:
    client = LoneBroker().client(channels=(1, 2))
    client.send(2, QueueDeclare("q"), BasicConsume(queue="q", no_ack=True))
    client.publish("q", b"body", channel=1)
    (delivery,) = [each for each in client.received() if isinstance(each.method, BasicDeliver)]
    assert (delivery.channel, delivery.body) == (2, b"body")


def test_a_socket_too_many_is_refused() -> None:
    lone = LoneBroker(limits=Limits(connections_max=1))
    lone.client()
    with pytest.raises(TooManyConnections):
        lone.socket()
