"""Message counts of one channel: published, handed out, got and acked."""

from __future__ import annotations

from mqkit.wire import Properties
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicReject,
    ChannelClose,
    ConfirmSelect,
    QueueDeclare,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.traffic import traffic_of, traffic_of_all
from reference_broker.core.vhost.traffic import Traffic
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


def declared() -> tuple[LoneClient, Channel]:
    """A client with a queue ``q``, and its channel."""
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"))
    return client, client.connection.channels[1]


def test_a_channel_that_did_nothing_has_no_counts() -> None:
    assert traffic_of(declared()[1]) == Traffic()


def test_what_reached_no_queue_is_published_all_the_same() -> None:
    client, channel = declared()
    client.publish("q")
    client.publish("nowhere")
    client.publish("nowhere", mandatory=True)
    assert traffic_of(channel) == Traffic(publish=3, return_unroutable=1, drop_unroutable=1)


def test_a_nacked_publish_is_not_confirmed() -> None:
    client, channel = declared()
    client.send(1, QueueDeclare("r", arguments={"x-max-length": 0, "x-overflow": "reject-publish"}))
    client.send(1, ConfirmSelect())
    client.publish("q", b"1")
    client.publish("r", b"2")
    assert traffic_of(channel) == Traffic(publish=2, confirm=1)


def test_gets_are_told_apart_from_deliveries() -> None:
    client, channel = declared()
    for _ in range(4):
        client.publish("q")
    client.send(1, BasicGet("q"), BasicGet("q", no_ack=True))
    assert traffic_of(channel) == Traffic(publish=4, get=1, get_no_ack=1)
    client.send(1, BasicConsume("q"))
    client.send(1, BasicGet("q"))
    assert traffic_of(channel) == Traffic(publish=4, get=1, get_no_ack=1, get_empty=1, deliver=2)


def test_acks_are_the_clients_own_and_a_redelivery_counts_as_a_delivery_too() -> None:
    client, channel = declared()
    client.publish("q")
    client.send(1, BasicConsume("q"))
    client.send(1, BasicReject(1, requeue=True))
    assert traffic_of(channel) == Traffic(publish=1, deliver=2, redeliver=1)
    client.send(1, BasicAck(2))
    assert traffic_of(channel) == Traffic(publish=1, deliver=2, redeliver=1, ack=1)


def test_deliveries_without_acks_are_counted_by_themselves() -> None:
    client, channel = declared()
    client.send(1, BasicConsume("q", no_ack=True))
    client.publish("q", properties=Properties(delivery_mode=2))
    assert traffic_of(channel) == Traffic(publish=1, deliver_no_ack=1)


def test_the_counts_of_a_channel_that_ends_go_to_its_virtual_host_once() -> None:
    client, channel = declared()
    client.publish("q")
    totals = channel.vhost.traffic
    assert (totals.channels_closed, totals.past) == (0, Traffic())
    client.send(1, ChannelClose(200, "", 0, 0))
    assert (totals.channels_closed, totals.past) == (1, Traffic(publish=1))
    client.disconnect()
    assert (totals.channels_closed, totals.past) == (1, Traffic(publish=1))


def test_an_answer_to_a_reply_consumer_is_delivered_without_acks() -> None:
    lone = LoneBroker()
    client = lone.client(channels=(1, 2))
    client.send(1, BasicConsume("amq.rabbitmq.reply-to", no_ack=True))
    reply_consumer = client.connection.channels[1].reply_consumer
    assert reply_consumer is not None
    client.send(2, QueueDeclare("q"))
    client.publish(reply_consumer.address, channel=2)
    traffic = traffic_of(client.connection.channels[1])
    assert (traffic.deliver, traffic.deliver_no_ack) == (0, 1)
    assert traffic_of(client.connection.channels[2]).drop_unroutable == 0


def test_the_counts_of_several_channels_are_the_sum_of_each() -> None:
    client = LoneBroker().client(channels=(1, 2, 3))
    client.send(1, QueueDeclare("q"))
    client.select_confirms(2)
    for number in range(7):
        client.publish("q" if number else "nowhere", channel=1 + number % 3, mandatory=True)
    client.send(1, BasicGet("q"), BasicAck(1), BasicGet("q", no_ack=True))
    client.send(2, BasicConsume("q", "c", no_ack=True))
    client.send(3, BasicConsume("q", "d"), BasicGet("q"))
    channels = list(client.connection.channels.values())
    first, second, third = map(traffic_of, channels)
    assert traffic_of_all(channels) == first.plus(second).plus(third)
    assert traffic_of_all([]) == Traffic()
