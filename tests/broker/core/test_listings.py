"""The read-only listings say what clients did."""

from __future__ import annotations

from mqkit.wire.methods import BasicConsume, BasicQos, QueueDeclare
from reference_broker.core.listings import (
    list_channels,
    list_connections,
    list_consumers,
    list_vhosts,
)
from reference_broker.simulation.lone_broker import LoneBroker


def test_everything_is_listed() -> None:
    lone = LoneBroker()
    lone.socket()
    client = lone.client(channels=(3,))
    client.select_confirms(3)
    client.send(3, QueueDeclare("q"), BasicQos(prefetch_count=1), BasicConsume("q", "tag"))
    client.publish("q", channel=3)
    client.publish("q", channel=3)

    idle, busy = list_connections(lone.broker)
    assert (idle.state, idle.user, idle.vhost) == ("pre_init", "", "")
    assert (busy.state, busy.user, busy.vhost, busy.channels) == ("running", "guest", "/", 1)
    assert busy.name == "127.0.0.1:50000 -> 127.0.0.1:5672"
    assert "capabilities" in busy.client_properties
    assert busy.received_bytes > 0

    [channel] = list_channels(lone.broker)
    assert channel.name == "127.0.0.1:50000 -> 127.0.0.1:5672 (3)"
    assert (channel.published, channel.unacknowledged, channel.unconfirmed) == (2, 1, 0)
    assert (channel.confirm, channel.prefetch_count, channel.consumers) == (True, 1, 1)

    [consumer] = list_consumers(lone.broker)
    assert (consumer.tag, consumer.queue, consumer.prefetch_count) == ("tag", "q", 1)
    assert (consumer.delivered, consumer.unacknowledged, consumer.ack_required) == (1, 1, True)

    [vhost] = list_vhosts(lone.broker)
    assert (vhost.name, vhost.queues) == ("/", 1)
    assert (vhost.messages_ready, vhost.messages_unacknowledged) == (1, 1)


def test_a_closed_connection_is_not_listed() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.disconnect()
    assert list_connections(lone.broker) == []
    assert list_channels(lone.broker) == []
