"""Core objects as rows of an answer. Pure; the names are RabbitMQ's.

Counters and rates are not here: ``statistics.py`` adds them.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from reference_broker.core.base.peer import Peer
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.connection.connection import Connection
from reference_broker.http.request.answer import Row
from reference_broker.http.request.json_value import json_value
from reference_broker.http.rows.tls_columns import tls_columns

if TYPE_CHECKING:
    from reference_broker.core.exchange.binding import Binding
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost


CAPACITY_CONSUMERS_MAX = 100
"""Consumers that are looked at for a row of their queue, of which there may be 40,000."""


def vhost_row(vhost: VHost, node: str) -> Row:
    info = vhost.info
    return {
        "name": vhost.name,
        "description": info.description,
        "tags": list(info.tags),
        "metadata": {"description": info.description, "tags": list(info.tags)},
        "default_queue_type": info.default_queue_type,
        "tracing": info.tracing,
        "cluster_state": {node: "running"},
    }


def exchange_row(exchange: Exchange, vhost: str) -> Row:
    """An exchange. The messages that a delayed exchange holds are counted under the plugin's name;
    the other two counts are ours."""
    row: Row = {
        "name": exchange.name,
        "vhost": vhost,
        "type": exchange.type.value,
        "durable": exchange.durable,
        "auto_delete": exchange.auto_delete,
        "internal": exchange.internal,
        "arguments": json_value(exchange.arguments),
        **({"policy": exchange.policies.user.name} if exchange.policies.user else {}),
    }
    if exchange.delays is not None:
        row["messages_delayed"] = exchange.delays.ready
        row["message_bytes_delayed"] = exchange.delays.ready_bytes
        row["memory"] = exchange.delays.memory_bytes
    if exchange.deduplication is not None:
        rule = exchange.deduplication.rule
        row["message_window"] = {
            "entries": len(exchange.deduplication),
            "size": rule.size,
            "ttl": rule.ttl_ms,
            "memory": exchange.deduplication.queue.memory_bytes,
        }
    return row


def queue_row(queue: Queue, node: str) -> Row:
    """A queue. "Paged out" is every message whose body is on disk only. ``messages_lost`` is ours:
    messages that could not be read any more, or were missing at the start (then an upper bound)."""
    ready, unacked = queue.ready, queue.unacked
    ready_bytes, unacked_bytes = queue.ready_bytes, queue.unacked_bytes
    absent, absent_bytes = queue.backlog.absent, queue.backlog.absent_bytes
    owner, policies = queue.owner, queue.policies
    capacity = consumer_capacity(queue)
    row = {
        "name": queue.name,
        "vhost": queue.env.vhost_name,
        "type": queue.limits.queue_type.value,
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "exclusive": owner is not None,
        "arguments": json_value(queue.arguments),
        "node": node,
        "state": "running",
        "messages": ready + unacked,
        "messages_ready": ready,
        "messages_unacknowledged": unacked,
        "message_bytes": ready_bytes + unacked_bytes,
        "message_bytes_ready": ready_bytes,
        "message_bytes_unacknowledged": unacked_bytes,
        "messages_ram": ready + unacked - absent,
        "messages_ready_ram": ready - absent,
        "messages_unacknowledged_ram": unacked,
        "messages_paged_out": absent,
        "message_bytes_ram": ready_bytes + unacked_bytes - absent_bytes,
        "message_bytes_paged_out": absent_bytes,
        "messages_lost": queue.lost,
        "memory": queue.memory_bytes,
        "consumers": len(queue.consumers),
        "consumer_capacity": capacity,
        "consumer_utilisation": capacity,
        "exclusive_consumer_tag": _exclusive_tag(queue),
        "single_active_consumer_tag": _active_tag(queue),
        "policy": policies.user.name if policies.user else None,
        "operator_policy": policies.operator.name if policies.operator else None,
        "effective_policy_definition": policies.definition(),
    }
    if isinstance(owner, Connection):
        row["owner_pid_details"] = _peer_details(owner.peer)
    return row


def remote_queue_row(queue: Queue, node: str, *, is_up: bool) -> Row:
    """A queue of another node, as its definition says it: without counts, which its home has."""
    policies = queue.policies
    return {
        "name": queue.name,
        "vhost": queue.env.vhost_name,
        "type": queue.limits.queue_type.value,
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "exclusive": queue.owner is not None,
        "arguments": json_value(queue.arguments),
        "node": node,
        "state": "running" if is_up else "down",
        "policy": policies.user.name if policies.user else None,
        "operator_policy": policies.operator.name if policies.operator else None,
        "effective_policy_definition": policies.definition(),
    }


_PLAIN = ("name", "vhost", "type", "durable", "auto_delete", "exclusive", "arguments", "node")
_LENGTHS = ("state", "messages", "messages_ready", "messages_unacknowledged")


def plain_queue_row(queue: Queue, node: str, *, totals: bool) -> Row:
    """A queue without the columns that have to be counted, but for its lengths where ``totals`` are
    wanted."""
    row = queue_row(queue, node)
    policy = {} if row["policy"] is None else {"policy": row["policy"]}
    if totals:
        return {**{name: row[name] for name in (*_PLAIN, *_LENGTHS)}, **policy}
    return {**{name: row[name] for name in _PLAIN}, **policy, "state": "live"}


def _exclusive_tag(queue: Queue) -> str | None:
    """The tag of the exclusive consumer, which has the queue for itself."""
    first = next(iter(queue.consumers), None)
    return first.tag if first is not None and first.exclusive else None


def consumer_capacity(queue: Queue) -> float:
    """The share of a queue's consumers that could take a message just now, among the first
    :data:`CAPACITY_CONSUMERS_MAX` of them; 0 for none. RabbitMQ has the share of time instead, in
    which any could."""
    first = islice(queue.consumers, CAPACITY_CONSUMERS_MAX)
    consumers = [each for each in first if isinstance(each, Consumer)]
    free = [
        each
        for each in consumers
        if each.no_ack or not each.prefetch or each.outstanding < each.prefetch
    ]
    return len(free) / len(consumers) if consumers else 0


def queue_detail_row(queue: Queue, node: str) -> Row:
    """A queue that was asked for by name, without the column ``consumer_details``."""
    row = queue_row(queue, node)
    row["incoming"] = row["deliveries"] = []
    return row


def binding_row(binding: Binding, vhost: str) -> Row:
    return {
        "source": binding.source,
        "vhost": vhost,
        "destination": binding.destination,
        "destination_type": "queue" if binding.destination_is_queue else "exchange",
        "routing_key": binding.key,
        "arguments": json_value(binding.arguments),
        "properties_key": binding.properties_key,
    }


def tracked_row(connection: Connection, node: str) -> Row:
    """The columns of a connection that need no counting."""
    assert connection.vhost is not None
    return {
        "name": str(connection.peer),
        "vhost": connection.vhost.name,
        "user": connection.user_name,
        "node": node,
    }


def connection_row(connection: Connection, node: str) -> Row:
    """A connection that has been opened."""
    peer = connection.peer
    host, port, local_host, local_port = peer.shown
    assert connection.vhost is not None
    row: Row = {
        "name": str(peer),
        "node": node,
        "vhost": connection.vhost.name,
        "user": connection.user_name,
        "user_who_performed_action": connection.user_name,
        "state": "blocked" if connection.blocked else connection.state.value,
        "type": "network",
        "protocol": "AMQP 0-9-1",
        "host": local_host,
        "port": local_port,
        "peer_host": host,
        "peer_port": port,
        "auth_mechanism": connection.auth_mechanism,
        **tls_columns(peer.tls),
        "connected_at": connection.connected_at_ms,
        "channels": len(connection.channels),
        "channel_max": connection.channel_max,
        "frame_max": connection.frame_max,
        "timeout": connection.heartbeat_s,
        "send_pend": connection.output_size,
        "client_properties": json_value(connection.client_properties),
    }
    name = connection.client_properties.get("connection_name")
    if name is not None:
        row["user_provided_name"] = json_value(name)
    return row


def channel_row(channel: Channel, node: str) -> Row:
    connection = channel.connection
    confirms, transaction = channel.confirms, channel.transaction
    return {
        "name": channel_name(channel),
        "node": node,
        "vhost": channel.vhost.name,
        "user": connection.user_name,
        "user_who_performed_action": connection.user_name,
        "number": channel.number,
        "state": "blocked" if connection.blocked else channel.state.value,
        "connection_details": _peer_details(connection.peer),
        "consumer_count": len(channel.consumers),
        "prefetch_count": channel.consumer_prefetch,
        "global_prefetch_count": channel.global_prefetch,
        "messages_unacknowledged": len(channel.unacked),
        "messages_unconfirmed": 0 if confirms is None else confirms.outstanding,
        "messages_uncommitted": 0 if transaction is None else len(transaction),
        "acks_uncommitted": 0 if transaction is None else transaction.unacked,
        "confirm": confirms is not None,
        "transactional": transaction is not None,
        "pending_raft_commands": 0,
    }


def channel_detail_row(channel: Channel, node: str) -> Row:
    """A channel that was asked for by name, without the column ``consumer_details``. ``deliveries``
    and ``publishes`` are RabbitMQ's ``rates_mode detailed``, which is off."""
    row = channel_row(channel, node)
    row["deliveries"] = row["publishes"] = []
    return row


def channel_name(channel: Channel) -> str:
    """The channel's name in lists and paths."""
    return f"{channel.connection.peer} ({channel.number})"


def is_consuming(consumer: Consumer) -> bool:
    """False for a consumer that has gone."""
    channel = consumer.channel
    return (
        channel.state is not ChannelState.CLOSED and channel.consumers.get(consumer.tag) is consumer
    )


def consumer_row(consumer: Consumer, node: str) -> Row:
    channel, queue = consumer.channel, consumer.queue
    connection = channel.connection
    single = queue.limits.single_active_consumer
    active = not single or consumer is queue.rotation.active
    return {
        "consumer_tag": consumer.tag,
        "queue": {"name": queue.name, "vhost": channel.vhost.name},
        "ack_required": not consumer.no_ack,
        "exclusive": consumer.exclusive,
        "active": active,
        "activity_status": "waiting" if not active else "single_active" if single else "up",
        "prefetch_count": consumer.prefetch,
        "arguments": json_value(consumer.arguments),
        "channel_details": {
            "name": channel_name(channel),
            "number": channel.number,
            "node": node,
            "user": connection.user_name,
            "connection_name": str(connection.peer),
            "peer_host": connection.peer.shown.host,
            "peer_port": connection.peer.shown.port,
        },
    }


def _peer_details(peer: Peer) -> Row:
    return {"name": str(peer), "peer_host": peer.shown.host, "peer_port": peer.shown.port}


def _active_tag(queue: Queue) -> str | None:
    active = queue.rotation.active
    return None if active is None else active.tag
