"""basic.*, without basic.publish (:mod:`publish_path`): consuming, getting, settling."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from mqkit.wire import table_type_name
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicGet,
    BasicGetEmpty,
    BasicNack,
    BasicQos,
    BasicQosOk,
    BasicRecover,
    BasicRecoverAsync,
    BasicRecoverOk,
    BasicReject,
    Method,
)
from reference_broker.core import settlement
from reference_broker.core.channel import Channel
from reference_broker.core.consumer import Consumer
from reference_broker.core.limits import CONSUMERS_MAX, UNACKED_MAX
from reference_broker.core.permission import Action
from reference_broker.core.queue_methods import named_queue
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode

_GET_OK = struct.Struct(">HHQ?")
"""basic.get-ok, up to the exchange name and routing key; :data:`_COUNT` follows those."""
_COUNT = struct.Struct(">I")


def _qos(channel: Channel, method: BasicQos) -> None:
    if method.prefetch_size:
        raise ConnectionException(
            ReplyCode.NOT_IMPLEMENTED, f"prefetch_size!=0 ({method.prefetch_size})"
        )
    if method.global_:
        channel.limit_outstanding(method.prefetch_count)
    else:  # RabbitMQ: for the consumers that are still to come
        channel.consumer_prefetch = method.prefetch_count
    channel.reply(BasicQosOk())


def _consume(channel: Channel, method: BasicConsume) -> None:
    connection = channel.connection
    tag = method.consumer_tag or f"amq.ctag-{connection.broker.ids.token()}"
    if tag in channel.consumers:
        raise ConnectionException(ReplyCode.NOT_ALLOWED, f"attempt to reuse consumer tag '{tag}'")
    if len(channel.consumers) >= CONSUMERS_MAX:
        raise ConnectionException(
            ReplyCode.NOT_ALLOWED, f"reached maximum ({CONSUMERS_MAX}) of consumers per channel"
        )
    name = named_queue(channel, method.queue)
    connection.access.require(Action.READ, "queue", name)
    queue = channel.vhost.queue_for(name, connection)
    consumer = Consumer(
        channel,
        queue,
        tag,
        no_ack=method.no_ack,
        exclusive=method.exclusive,
        priority=_consumer_priority(channel, queue.name, method.arguments),
        prefetch=channel.consumer_prefetch,
        arguments=method.arguments,
    )
    queue.add_consumer(consumer)
    channel.consumers[tag] = consumer
    if not method.nowait:
        channel.reply(BasicConsumeOk(consumer_tag=tag))


def _consumer_priority(channel: Channel, queue_name: str, arguments: dict[str, Any]) -> int:
    priority = arguments.get("x-priority", 0)
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"invalid arg 'x-priority' for queue '{queue_name}' in vhost"
            f" '{channel.vhost.name}': \"expected integer, got {table_type_name(priority)}\"",
        )
    return priority


def _cancel(channel: Channel, method: BasicCancel) -> None:
    consumer = channel.consumers.pop(method.consumer_tag, None)
    if consumer is not None:
        consumer.queue.remove_consumer(consumer)
    if not method.nowait:
        channel.reply(BasicCancelOk(consumer_tag=method.consumer_tag))


def _get(channel: Channel, method: BasicGet) -> None:
    name = named_queue(channel, method.queue)
    channel.connection.access.require(Action.READ, "queue", name)
    queue = channel.vhost.queue_for(name, channel.connection)
    if not method.no_ack and len(channel.unacked) >= UNACKED_MAX:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"{UNACKED_MAX} deliveries are unacknowledged on this channel",
        )
    lease = queue.get(channel)
    if lease is None:
        if queue.ready:
            channel.await_head(queue, method)
        else:
            channel.reply(BasicGetEmpty())
        return
    delivery_tag = channel.next_delivery_tag
    channel.next_delivery_tag = delivery_tag + 1
    content = lease.content
    got = _GET_OK.pack(60, 71, delivery_tag, lease.redelivered)
    channel.send_content(got + content.route + _COUNT.pack(queue.ready), content)
    if method.no_ack:
        queue.ack(lease)
    else:
        channel.unacked[delivery_tag] = lease


def _ack(channel: Channel, method: BasicAck) -> None:
    settlement.ack(channel, method.delivery_tag, method.multiple)


def _nack(channel: Channel, method: BasicNack) -> None:
    settlement.reject(channel, method.delivery_tag, method.multiple, method.requeue)


def _reject(channel: Channel, method: BasicReject) -> None:
    settlement.reject(channel, method.delivery_tag, False, method.requeue)


def _recover(channel: Channel, method: BasicRecover | BasicRecoverAsync) -> None:
    if not method.requeue:
        raise ConnectionException(ReplyCode.NOT_IMPLEMENTED, "requeue=false")
    settlement.recover(channel)
    if isinstance(method, BasicRecover):
        channel.reply(BasicRecoverOk())


BASIC_METHODS: dict[type[Method], Callable[[Channel, Any], None]] = {
    BasicQos: _qos,
    BasicConsume: _consume,
    BasicCancel: _cancel,
    BasicGet: _get,
    BasicAck: _ack,
    BasicNack: _nack,
    BasicReject: _reject,
    BasicRecover: _recover,
    BasicRecoverAsync: _recover,
}
