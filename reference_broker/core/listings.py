"""What the broker has, as plain values for people and programs to read: never a live object.

For the management API. A listing is made in one go, in the order in which things came to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.channel import Channel
    from reference_broker.core.connection import Connection
    from reference_broker.core.consumer import Consumer


@dataclass(frozen=True, slots=True)
class ConnectionListing:
    """One connection. ``state`` is RabbitMQ's word; a blocked one says so."""

    name: str
    peer_host: str
    peer_port: int
    host: str
    port: int
    user: str
    vhost: str
    state: str
    client_properties: dict[str, Any]
    connected_at_ms: int
    channels: int
    channel_max: int
    frame_max: int
    heartbeat_s: int
    received_bytes: int
    sent_bytes: int
    waiting_bytes: int


@dataclass(frozen=True, slots=True)
class ChannelListing:
    """One channel. ``unconfirmed`` is 0 where confirms were not selected."""

    name: str
    number: int
    connection_name: str
    user: str
    vhost: str
    state: str
    consumers: int
    unacknowledged: int
    unconfirmed: int
    confirm: bool
    prefetch_count: int
    global_prefetch_count: int
    published: int
    acknowledged: int


@dataclass(frozen=True, slots=True)
class ConsumerListing:
    """One consumer."""

    tag: str
    queue: str
    vhost: str
    channel_name: str
    connection_name: str
    exclusive: bool
    ack_required: bool
    prefetch_count: int
    priority: int
    arguments: dict[str, Any]
    delivered: int
    unacknowledged: int


@dataclass(frozen=True, slots=True)
class VHostListing:
    """One virtual host, with its messages summed up over its queues."""

    name: str
    exchanges: int
    queues: int
    messages_ready: int
    messages_unacknowledged: int


def list_connections(broker: Broker) -> list[ConnectionListing]:
    """Every connection that is not closed, logged in or not."""
    return [_connection(connection) for connection in broker.connections.values()]


def list_channels(broker: Broker) -> list[ChannelListing]:
    """Every channel of every connection."""
    return [
        _channel(channel)
        for connection in broker.connections.values()
        for channel in connection.channels.values()
    ]


def list_consumers(broker: Broker) -> list[ConsumerListing]:
    """Every consumer of every channel."""
    return [
        _consumer(consumer)
        for connection in broker.connections.values()
        for channel in connection.channels.values()
        for consumer in channel.consumers.values()
    ]


def list_vhosts(broker: Broker) -> list[VHostListing]:
    """Every virtual host."""
    return [
        VHostListing(
            name=vhost.name,
            exchanges=len(vhost.exchanges),
            queues=len(vhost.queues),
            messages_ready=sum(queue.ready for queue in vhost.queues.values()),
            messages_unacknowledged=sum(queue.unacked for queue in vhost.queues.values()),
        )
        for vhost in broker.vhosts.values()
    ]


def _vhost_name(connection: Connection) -> str:
    return "" if connection.vhost is None else connection.vhost.name


def _channel_name(channel: Channel) -> str:
    return f"{channel.connection.peer} ({channel.number})"


def _connection(connection: Connection) -> ConnectionListing:
    peer = connection.peer
    return ConnectionListing(
        name=str(peer),
        peer_host=peer.host,
        peer_port=peer.port,
        host=peer.local_host,
        port=peer.local_port,
        user=connection.user_name,
        vhost=_vhost_name(connection),
        state="blocked" if connection.blocked else connection.state.value,
        client_properties=dict(connection.client_properties),
        connected_at_ms=connection.connected_at_ms,
        channels=len(connection.channels),
        channel_max=connection.channel_max,
        frame_max=connection.frame_max,
        heartbeat_s=connection.heartbeat_s,
        received_bytes=connection.received_bytes,
        sent_bytes=connection.sent_bytes,
        waiting_bytes=connection.output_size,
    )


def _channel(channel: Channel) -> ChannelListing:
    confirms = channel.confirms
    return ChannelListing(
        name=_channel_name(channel),
        number=channel.number,
        connection_name=str(channel.connection.peer),
        user=channel.connection.user_name,
        vhost=channel.vhost.name,
        state=channel.state.value,
        consumers=len(channel.consumers),
        unacknowledged=len(channel.unacked),
        unconfirmed=0 if confirms is None else confirms.outstanding,
        confirm=confirms is not None,
        prefetch_count=channel.consumer_prefetch,
        global_prefetch_count=channel.global_prefetch,
        published=channel.published,
        acknowledged=channel.acked,
    )


def _consumer(consumer: Consumer) -> ConsumerListing:
    return ConsumerListing(
        tag=consumer.tag,
        queue=consumer.queue.name,
        vhost=consumer.channel.vhost.name,
        channel_name=_channel_name(consumer.channel),
        connection_name=str(consumer.connection.peer),
        exclusive=consumer.exclusive,
        ack_required=not consumer.no_ack,
        prefetch_count=consumer.prefetch,
        priority=consumer.priority,
        arguments=dict(consumer.arguments),
        delivered=consumer.delivered,
        unacknowledged=consumer.outstanding,
    )
