"""Counters of each kind of object, in the order in which a sample has them.

Reading costs a handful of attributes for an object; for a virtual host and the broker somebody has
to add up (``totals.py``).
"""

from __future__ import annotations

from typing import TypeAlias

from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.broker import Broker
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.traffic import traffic_of
from reference_broker.core.connection.connection import Connection
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.traffic import Traffic, VHostTraffic, traffic_of_queue
from reference_broker.http.request.host import Node
from reference_broker.http.rows.process import descriptors_used, disk_free, resident_bytes
from reference_broker.http.rows.totals import Totals, VHostTotals

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


def measured_totals(totals: VHostTotals) -> Values:
    """The sums of a virtual host, or of several, in the order of :data:`VHOST`."""
    return (*_lengths(totals), *totals.data, *_with_sum(totals.traffic))


def measured_broker(broker: Broker, totals: Totals) -> Values:
    whole = totals.whole
    return (*_lengths(whole), *churn_of(broker), *_with_sum(whole.traffic))


def measured_by_queue_type(totals: Totals) -> dict[QueueType, Values]:
    """Counts of messages that left the queues of each type since the start, in the order of
    :data:`TRAFFIC`."""
    return {name: _with_sum(traffic) for name, traffic in totals.by_queue_type.items()}


def measured_node(broker: Broker, node: Node) -> Values:
    return (
        resident_bytes(),
        descriptors_used(),
        len(broker.connections),
        disk_free(node.data_dir),
        node.sync_count,
        *churn_of(broker),
    )


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


def _lengths(totals: VHostTotals) -> Values:
    return (totals.ready + totals.unacked, totals.ready, totals.unacked)
