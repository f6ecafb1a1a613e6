"""Counters of each kind of object, in the order in which a sample has them.

Reading costs a handful of attributes for an object; a virtual host and the broker add up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.broker import Broker
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.traffic import traffic_of
from reference_broker.core.connection.connection import Connection
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.traffic import Traffic, VHostTraffic, traffic_of_queue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.request.host import Node
from reference_broker.http.rows.process import descriptors_used, disk_free, resident_bytes

Values: TypeAlias = tuple[int, ...]

PUBLISHERS = ("publish", "confirm", "return_unroutable", "drop_unroutable")
CONSUMERS = (
    "ack", "deliver", "deliver_no_ack", "get", "get_no_ack", "get_empty", "redeliver",
    "deliver_get",
)  # fmt: skip
TRAFFIC = (*PUBLISHERS, *CONSUMERS)
LENGTHS = ("messages", "messages_ready", "messages_unacknowledged")
DATA = ("recv_oct", "send_oct")
CHURN = (
    "connection_created", "connection_closed", "channel_created", "channel_closed",
    "queue_declared", "queue_created", "queue_deleted",
)  # fmt: skip

assert TRAFFIC[:-1] == Traffic._fields

QUEUE = (*LENGTHS, "publish", *CONSUMERS)
EXCHANGE = ("publish_in", "publish_out")
CONNECTION = DATA
CHANNEL = TRAFFIC
VHOST = (*LENGTHS, *DATA, *TRAFFIC)
NODE = ("mem_used", "fd_used", "sockets_used", "disk_free", "io_sync_count", *CHURN)
BROKER = (*LENGTHS, *CHURN, *TRAFFIC)


def measured_queue(queue: Queue) -> Values:
    ready, unacked = queue.ready, queue.unacked
    outgoing = traffic_of_queue(queue)[len(PUBLISHERS) :]
    handed_out = queue.delivered + queue.got
    return (ready + unacked, ready, unacked, queue.published, *outgoing, handed_out)


def measured_exchange(exchange: Exchange) -> Values:
    return (exchange.published, exchange.routed)


def measured_connection(connection: Connection) -> Values:
    return (connection.received_bytes, connection.sent_bytes)


def measured_channel(channel: Channel) -> Values:
    return _with_sum(traffic_of(channel))


def measured_vhost(vhost: VHost, totals: VHostTotals) -> Values:
    return (*_lengths([vhost]), *totals.data, *_with_sum(totals.traffic))


def measured_broker(broker: Broker) -> Values:
    vhosts = broker.vhosts.values()
    traffic = broker.past.past
    for totals in totals_of(broker).values():
        traffic = traffic.plus(totals.traffic)
    return (*_lengths(vhosts), *churn_of(broker), *_with_sum(traffic))


def measured_by_queue_type(broker: Broker) -> dict[QueueType, Values]:
    """Counts of messages that left the queues of each type since the start, in the order of
    :data:`TRAFFIC`."""
    sums = dict(broker.past.past_by_type)
    for vhost in broker.vhosts.values():
        for queue_type, traffic in vhost.traffic.past_by_type.items():
            sums[queue_type] = sums[queue_type].plus(traffic)
        for queue in vhost.queues.values():
            queue_type = queue.limits.queue_type
            sums[queue_type] = sums[queue_type].plus(traffic_of_queue(queue))
    return {queue_type: _with_sum(traffic) for queue_type, traffic in sums.items()}


def measured_node(broker: Broker, node: Node) -> Values:
    return (
        resident_bytes(),
        descriptors_used(),
        len(broker.connections),
        disk_free(node.data_dir),
        node.sync_count,
        *churn_of(broker),
    )


class VHostTotals(NamedTuple):
    """The sums of a virtual host: of the objects that are there, and of those that are gone."""

    traffic: Traffic
    data: tuple[int, int]


def totals_of(broker: Broker) -> dict[str, VHostTotals]:
    """Every virtual host's sums, in one walk over the connections."""
    traffic = {vhost.name: vhost.traffic.past for vhost in broker.vhosts.values()}
    received = {vhost.name: vhost.traffic.received_bytes for vhost in broker.vhosts.values()}
    sent = {vhost.name: vhost.traffic.sent_bytes for vhost in broker.vhosts.values()}
    for connection in broker.connections.values():
        vhost = connection.vhost
        if vhost is None or broker.vhosts.get(vhost.name) is not vhost:
            continue
        received[vhost.name] += connection.received_bytes
        sent[vhost.name] += connection.sent_bytes
        for channel in connection.channels.values():
            if channel.state is not ChannelState.CLOSED:
                traffic[vhost.name] = traffic[vhost.name].plus(traffic_of(channel))
    return {name: VHostTotals(traffic[name], (received[name], sent[name])) for name in traffic}


def churn_of(broker: Broker) -> Values:
    """Counts of objects that came and went since the start, in the order of :data:`CHURN`."""
    counted: list[VHostTraffic] = [broker.past]
    counted += [vhost.traffic for vhost in broker.vhosts.values()]
    return (
        broker.connections_opened,
        broker.connections_closed,
        sum(each.channels_opened for each in counted),
        sum(each.channels_closed for each in counted),
        sum(each.queues_declared for each in counted),
        sum(each.queues_created for each in counted),
        sum(each.queues_deleted for each in counted),
    )


def _with_sum(traffic: Traffic) -> Values:
    handed_out = traffic.deliver + traffic.deliver_no_ack + traffic.get + traffic.get_no_ack
    return (*traffic, handed_out)


def _lengths(vhosts: Iterable[VHost]) -> Values:
    ready = unacked = 0
    for vhost in vhosts:
        for queue in vhost.queues.values():
            ready += queue.ready
            unacked += queue.unacked
    return (ready + unacked, ready, unacked)
