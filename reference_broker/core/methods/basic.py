"""basic.*, without basic.publish (:mod:`reference_broker.core.hot_path.publish`): consuming,
getting, settling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from reference_broker.core.access.permission import Action
from reference_broker.core.arguments.queue_type import check_get
from reference_broker.core.base.limits import CONSUMERS_MAX, UNACKED_MAX
from reference_broker.core.channel import direct_reply, settlement
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.consume import consume
from reference_broker.core.channel.got import send_got
from reference_broker.core.methods.elsewhere import (
    cancel_elsewhere,
    consume_elsewhere,
    get_elsewhere,
)
from reference_broker.core.methods.queue import named_queue
from reference_broker.core.queue.delivery_counts import shown_content
from reference_broker.core.queue.rest import require_rest
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode


def _qos(channel: Channel, method: BasicQos) -> None:
    if method.prefetch_size:
        raise ConnectionException(
            ReplyCode.NOT_IMPLEMENTED, f"prefetch_size!=0 ({method.prefetch_size})"
        )
    if method.global_:
        channel.limit_outstanding(method.prefetch_count)
    else:
        channel.limit_new_consumers(method.prefetch_count)
    channel.reply(BasicQosOk())


def _consume(channel: Channel, method: BasicConsume) -> None:
    connection = channel.connection
    name = named_queue(channel, method.queue)
    tag = method.consumer_tag or f"amq.ctag-{channel.broker.ids.token()}"
    if tag in channel.consumers or _takes_replies(channel, tag, method.queue):
        raise ConnectionException(ReplyCode.NOT_ALLOWED, f"attempt to reuse consumer tag '{tag}'")
    if method.queue == direct_reply.PSEUDO_QUEUE:
        direct_reply.consume(channel, tag, no_ack=method.no_ack)
        if not method.nowait:
            channel.reply(BasicConsumeOk(consumer_tag=tag))
        return
    if len(channel.consumers) >= CONSUMERS_MAX:
        raise ConnectionException(
            ReplyCode.NOT_ALLOWED, f"reached maximum ({CONSUMERS_MAX}) of consumers per channel"
        )
    connection.access.require(Action.READ, "queue", name)
    queue = channel.vhost.queue_for(name, connection)
    if isinstance(queue, RemoteQueue):
        consume_elsewhere(channel, queue, tag, method)
        return
    consume(channel, queue, tag, method)
    if not method.nowait:
        channel.reply(BasicConsumeOk(consumer_tag=tag))


def _takes_replies(channel: Channel, tag: str, queue_name: str) -> bool:
    """True when the channel's reply consumer has the tag. (A second one is refused for another
    reason.)"""
    replies = channel.reply_consumer
    return replies is not None and replies.tag == tag and queue_name != direct_reply.PSEUDO_QUEUE


def _cancel(channel: Channel, method: BasicCancel) -> None:
    consumer = channel.consumers.get(method.consumer_tag)
    if consumer is not None:
        # What came before in this read (an ack made room, a publish) still counts for it.
        require_rest(consumer.queue)
        channel.forget_consumer(method.consumer_tag)
        consumer.queue.remove_consumer(consumer)
        if isinstance(consumer.queue, RemoteQueue):
            cancel_elsewhere(channel, consumer, method)
            return
    elif channel.reply_consumer is not None and channel.reply_consumer.tag == method.consumer_tag:
        direct_reply.cancel(channel)
    elif channel.notices is not None:
        channel.notices.drop(method.consumer_tag)
    if not method.nowait:
        channel.reply(BasicCancelOk(consumer_tag=method.consumer_tag))


def _cancel_ok(channel: Channel, method: BasicCancelOk) -> None:
    """Do nothing: a client may answer the broker's own basic.cancel, which asks for no answer
    (RabbitMQ 4)."""


def _get(channel: Channel, method: BasicGet) -> None:
    name = named_queue(channel, method.queue)
    channel.connection.access.require(Action.READ, "queue", name)
    queue = channel.vhost.queue_for(name, channel.connection)
    limits = queue.limits
    if limits.single_active_consumer:
        check_get(limits.queue_type, queue.name, channel.vhost.name)
    if not method.no_ack and _unacked(channel) >= UNACKED_MAX:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"{UNACKED_MAX} deliveries are unacknowledged on this channel",
        )
    if isinstance(queue, RemoteQueue):
        get_elsewhere(channel, queue, method)
        return
    lease = queue.get(channel, no_ack=method.no_ack)
    if lease is None:
        if queue.ready:
            channel.await_head(queue, method)
        else:
            channel.note_got_empty()
            queue.note_got_empty()
            channel.reply(BasicGetEmpty())
        return
    send_got(channel, lease, shown_content(lease), queue.ready, no_ack=method.no_ack)
    if method.no_ack:
        queue.ack(lease)


def _unacked(channel: Channel) -> int:
    """Unacked deliveries of the channel, with those that a transaction has settled: they may come
    back."""
    held = 0 if channel.transaction is None else channel.transaction.unacked
    return len(channel.unacked) + held


def _ack(channel: Channel, method: BasicAck) -> None:
    settlement.ack(channel, method.delivery_tag, method.multiple)


def _nack(channel: Channel, method: BasicNack) -> None:
    settlement.reject(channel, method.delivery_tag, method.multiple, method.requeue)


def _reject(channel: Channel, method: BasicReject) -> None:
    settlement.reject(channel, method.delivery_tag, False, method.requeue)


def _recover(channel: Channel, method: BasicRecover | BasicRecoverAsync) -> None:
    if not method.requeue:
        raise ConnectionException(ReplyCode.NOT_IMPLEMENTED, "requeue=false")

    def answer() -> None:
        if isinstance(method, BasicRecover):
            channel.reply(BasicRecoverOk())

    settlement.recover(channel, answer)


BASIC_METHODS: dict[type[Method], Callable[[Channel, Any], None]] = {
    BasicQos: _qos,
    BasicConsume: _consume,
    BasicCancel: _cancel,
    BasicCancelOk: _cancel_ok,
    BasicGet: _get,
    BasicAck: _ack,
    BasicNack: _nack,
    BasicReject: _reject,
    BasicRecover: _recover,
    BasicRecoverAsync: _recover,
}
