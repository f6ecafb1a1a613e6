"""The table of metrics: RabbitMQ's names, types and help texts, and where each value comes from.

Left out is what only Erlang has: schedulers, Raft, Mnesia, the message store's own files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.traffic import traffic_of
from reference_broker.core.connection.connection import Connection
from reference_broker.core.queue.queue import Queue
from reference_broker.http.rows.rendering import consumer_capacity

Kind: TypeAlias = Literal["gauge", "counter", "untyped"]
Subject = TypeVar("Subject")


class Metric(NamedTuple):
    """A metric of the broker. ``name`` is without the prefix ``rabbitmq_``; that of a counter ends
    in ``_total``."""

    name: str
    kind: Kind
    help: str


class ObjectMetric(NamedTuple, Generic[Subject]):
    """A metric with one value for each queue, channel or connection. ``family`` is the name of its
    group in ``/metrics/detailed``. A sum says nothing where it is not ``summed``."""

    metric: Metric
    family: str
    read: Callable[[Subject], float]
    summed: bool = True


def _queue(
    family: str, name: str, text: str, read: Callable[[Queue], float], *, summed: bool = True
) -> ObjectMetric[Queue]:
    kind: Kind = "counter" if name.endswith("_total") else "gauge"
    return ObjectMetric(Metric(name, kind, text), family, read, summed)


def _channel(
    family: str, name: str, text: str, read: Callable[[Channel], float]
) -> ObjectMetric[Channel]:
    kind: Kind = "counter" if name.endswith("_total") else "gauge"
    return ObjectMetric(Metric(name, kind, text), family, read)


def _connection(
    family: str, name: str, text: str, read: Callable[[Connection], float]
) -> ObjectMetric[Connection]:
    kind: Kind = "counter" if name.endswith("_total") else "gauge"
    return ObjectMetric(Metric(name, kind, text), family, read)


_COARSE = "queue_coarse_metrics"
_FINE = "queue_metrics"

QUEUES: Sequence[ObjectMetric[Queue]] = (
    _queue(_COARSE, "queue_messages_ready",
           "Messages ready to be delivered to consumers", lambda q: q.ready),
    _queue(_COARSE, "queue_messages_unacked",
           "Messages delivered to consumers but not yet acknowledged", lambda q: q.unacked),
    _queue(_COARSE, "queue_messages",
           "Sum of ready and unacknowledged messages - total queue depth",
           lambda q: q.ready + q.unacked),
    _queue(_FINE, "queue_consumers", "Consumers on a queue", lambda q: len(q.consumers)),
    _queue(_FINE, "queue_consumer_capacity", "Consumer capacity", consumer_capacity,
           summed=False),
    _queue(_FINE, "queue_consumer_utilisation", "Same as consumer capacity", consumer_capacity,
           summed=False),
    _queue(_FINE, "queue_process_memory_bytes",
           "Memory in bytes used by the Erlang queue process", lambda q: q.memory_bytes),
    _queue(_FINE, "queue_messages_ram",
           "Ready and unacknowledged messages stored in memory",
           lambda q: q.ready + q.unacked - q.backlog.absent),
    _queue(_FINE, "queue_messages_ram_bytes",
           "Size of ready and unacknowledged messages stored in memory",
           lambda q: q.ready_bytes + q.unacked_bytes - q.backlog.absent_bytes),
    _queue(_FINE, "queue_messages_ready_ram", "Ready messages stored in memory",
           lambda q: q.ready - q.backlog.absent),
    _queue(_FINE, "queue_messages_unacked_ram", "Unacknowledged messages stored in memory",
           lambda q: q.unacked),
    _queue(_FINE, "queue_messages_bytes",
           "Size in bytes of ready and unacknowledged messages",
           lambda q: q.ready_bytes + q.unacked_bytes),
    _queue(_FINE, "queue_messages_ready_bytes", "Size in bytes of ready messages",
           lambda q: q.ready_bytes),
    _queue(_FINE, "queue_messages_unacked_bytes",
           "Size in bytes of all unacknowledged messages", lambda q: q.unacked_bytes),
    _queue(_FINE, "queue_messages_paged_out", "Messages paged out to disk",
           lambda q: q.backlog.absent),
    _queue(_FINE, "queue_messages_paged_out_bytes",
           "Size in bytes of messages paged out to disk", lambda q: q.backlog.absent_bytes),
    _queue("channel_queue_exchange_metrics", "queue_messages_published_total",
           "Total number of messages published to queues", lambda q: q.published),
)  # fmt: skip

_OF_EXCHANGE = "channel_exchange_metrics"
_OF_QUEUE = "channel_queue_metrics"

CHANNELS: Sequence[ObjectMetric[Channel]] = (
    _channel("channel_metrics", "channel_consumers", "Consumers on a channel",
             lambda c: len(c.consumers)),
    _channel("channel_metrics", "channel_messages_unacked",
             "Delivered but not yet acknowledged messages", lambda c: len(c.unacked)),
    _channel("channel_metrics", "channel_messages_unconfirmed",
             "Published but not yet confirmed messages",
             lambda c: 0 if c.confirms is None else c.confirms.outstanding),
    _channel("channel_metrics", "consumer_prefetch",
             "Limit of unacknowledged messages for each consumer", lambda c: c.consumer_prefetch),
    _channel("channel_metrics", "channel_prefetch",
             "Total limit of unacknowledged messages for all consumers on a channel",
             lambda c: c.global_prefetch),
    _channel(_OF_EXCHANGE, "channel_messages_published_total",
             "Total number of messages published into an exchange on a channel",
             lambda c: c.published),
    _channel(_OF_EXCHANGE, "channel_messages_confirmed_total",
             "Total number of messages published into an exchange and confirmed on the channel",
             lambda c: traffic_of(c).confirm),
    _channel(_OF_EXCHANGE, "channel_messages_unroutable_returned_total",
             "Total number of messages published as mandatory into an exchange and returned to the"
             " publisher as unroutable", lambda c: c.returned),
    _channel(_OF_EXCHANGE, "channel_messages_unroutable_dropped_total",
             "Total number of messages published as non-mandatory into an exchange and dropped as"
             " unroutable", lambda c: c.unroutable),
    _channel(_OF_QUEUE, "channel_get_ack_total",
             "Total number of messages fetched with basic.get in manual acknowledgement mode",
             lambda c: c.got),
    _channel(_OF_QUEUE, "channel_get_total",
             "Total number of messages fetched with basic.get in automatic acknowledgement mode",
             lambda c: c.got_no_ack),
    _channel(_OF_QUEUE, "channel_messages_delivered_ack_total",
             "Total number of messages delivered to consumers in manual acknowledgement mode",
             lambda c: traffic_of(c).deliver),
    _channel(_OF_QUEUE, "channel_messages_delivered_total",
             "Total number of messages delivered to consumers in automatic acknowledgement mode",
             lambda c: c.delivered_no_ack),
    _channel(_OF_QUEUE, "channel_messages_redelivered_total",
             "Total number of messages redelivered to consumers", lambda c: c.redelivered),
    _channel(_OF_QUEUE, "channel_messages_acked_total",
             "Total number of messages acknowledged by consumers", lambda c: c.acked),
    _channel(_OF_QUEUE, "channel_get_empty_total",
             "Total number of times basic.get operations fetched no message",
             lambda c: c.got_empty),
)  # fmt: skip

CONNECTIONS: Sequence[ObjectMetric[Connection]] = (
    _connection("connection_coarse_metrics", "connection_incoming_bytes_total",
                "Total number of bytes received on a connection", lambda c: c.received_bytes),
    _connection("connection_coarse_metrics", "connection_outgoing_bytes_total",
                "Total number of bytes sent on a connection", lambda c: c.sent_bytes),
    _connection("connection_metrics", "connection_pending_packets",
                "Number of packets waiting to be sent on a connection",
                lambda c: len(c.output)),
    _connection("connection_metrics", "connection_channels", "Channels on a connection",
                lambda c: len(c.channels)),
)  # fmt: skip
