"""queue.*: what each method of the class asks of the virtual host, and its answer.

A queue name that is left empty means the queue that the channel declared last (spec section 1.7,
"queue name" in each method). The -ok of anything that may be durable waits for the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mqkit.wire.methods import (
    Method,
    QueueBind,
    QueueBindOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
    QueueUnbind,
    QueueUnbindOk,
)
from reference_broker.core.access.permission import Action
from reference_broker.core.channel import direct_reply
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.exchange.definitions import queue_key
from reference_broker.core.methods.elsewhere import (
    count_elsewhere,
    delete_elsewhere,
    purge_elsewhere,
)
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.removal import purge
from reference_broker.core.queue.rest import require_no_leaving, require_rest
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.vhost.queue_declaration import generated_name
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import Agreement, NotYet
from reference_broker.errors import ChannelException, ReplyCode


def named_queue(channel: Channel, name: str) -> str:
    """The name to use for ``name``. Raises ``ChannelException`` (404) where it is empty and the
    channel has declared no queue."""
    if name:
        return name
    if not channel.last_queue_name:
        raise ChannelException(ReplyCode.NOT_FOUND, "no previously declared queue")
    return channel.last_queue_name


def _declare(channel: Channel, method: QueueDeclare) -> None:
    if method.queue.startswith(direct_reply.PSEUDO_QUEUE):
        answer = direct_reply.declared(channel, method.queue)
        if not method.nowait:
            channel.reply(answer)
        return
    existing = channel.vhost.queues.get(method.queue)
    if existing is not None and not method.nowait:
        require_rest(existing)  # what a consumer waits for, or has expired, does not count
    if existing is not None and (existing.auto_delete or not method.nowait):
        require_no_leaving(existing)
    shared = channel.vhost.definitions.shared
    if shared and not method.queue and not channel.drawn_name:
        channel.drawn_name = generated_name(channel.broker.ids)
    queue: Queue = channel.vhost.declare_queue(
        method.queue,
        drawn_name=channel.drawn_name,
        passive=method.passive,
        # Nobody can come back to it after a restart: rabbit_channel says so too.
        durable=method.durable and not method.exclusive,
        exclusive=method.exclusive,
        auto_delete=method.auto_delete,
        arguments=method.arguments,
        owner=channel.connection,
        access=channel.connection.access,
    )
    channel.note_declared(queue.name)
    channel.drawn_name = ""
    if method.nowait:
        return
    if isinstance(queue, RemoteQueue):
        count_elsewhere(channel, queue, method, partial(_declared, channel, queue, method))
    else:
        _declared(channel, queue, method, queue.ready, declared_consumers(queue))


def _declared(
    channel: Channel, queue: Queue, method: QueueDeclare, messages: int, consumers: int
) -> None:
    ok = QueueDeclareOk(queue=queue.name, message_count=messages, consumer_count=consumers)
    if method.passive:
        channel.reply_found(ok, queue_key(channel.vhost.name, queue.name))
    else:
        channel.reply_defined(ok, durable=queue.durable)


def declared_consumers(queue: Queue) -> int:
    """The consumer count in declare-ok, as RabbitMQ has it. Of a quorum queue it has those who may
    get messages now (so none of those who wait to be the single active consumer), and who holds
    one: a consumer that was cancelled meanwhile, and each basic.get by itself."""
    if queue.delivery_counts is None:
        return len(queue.consumers)
    counted: dict[object, None] = {}
    gets = 0
    for lease in queue.leases.values():
        if hasattr(lease.holder, "requeue"):  # a consumer, maybe another node's
            counted[lease.holder] = None
        else:
            gets += 1
    counted.update(dict.fromkeys(queue.rotation.serving))
    return len(counted) + gets


def _is_durable(channel: Channel, name: str) -> bool:
    """True when the -ok for this queue has to wait for the disk. A name that is free may have been
    deleted just now, and that not yet be on disk."""
    queue = channel.vhost.queues.get(name)
    return queue is None or queue.durable


def _binding_key(channel: Channel, method: QueueBind | QueueUnbind) -> str:
    """The binding key of a method. With queue and routing key both left empty, both are the name of
    the queue declared last (RabbitMQ)."""
    if not method.queue and not method.routing_key:
        return named_queue(channel, "")
    return method.routing_key


def _require_binding(channel: Channel, method: QueueBind | QueueUnbind, queue: str) -> None:
    key = _binding_key(channel, method)
    channel.connection.access.require_binding(
        channel.vhost, method.exchange, queue, key, to_queue=True
    )


def _bind(channel: Channel, method: QueueBind) -> None:
    name = named_queue(channel, method.queue)
    _require_binding(channel, method, name)
    channel.vhost.bind(
        method.exchange,
        name,
        _binding_key(channel, method),
        method.arguments,
        destination_is_queue=True,
        owner=channel.connection,
    )
    if not method.nowait:
        channel.reply_defined(QueueBindOk(), durable=_is_durable(channel, name))


def _unbind(channel: Channel, method: QueueUnbind) -> None:
    name = named_queue(channel, method.queue)
    _require_binding(channel, method, name)
    channel.vhost.unbind(
        method.exchange,
        name,
        _binding_key(channel, method),
        method.arguments,
        destination_is_queue=True,
        owner=channel.connection,
    )
    channel.reply_defined(QueueUnbindOk(), durable=_is_durable(channel, name))


def _purge(channel: Channel, method: QueuePurge) -> None:
    name = named_queue(channel, method.queue)
    channel.connection.access.require(Action.READ, "queue", name)
    queue = channel.vhost.queue_for(name, channel.connection)
    if isinstance(queue, RemoteQueue):
        purge_elsewhere(channel, queue, method)
        return
    require_rest(queue)
    count = 0

    def steps() -> Steps:
        nonlocal count
        count = yield from purge(queue)

    def answer() -> None:
        if not method.nowait and channel.state is ChannelState.OPEN:
            channel.reply_logged(QueuePurgeOk(message_count=count), durable=queue.durable)

    channel.perform(steps(), answer)


def _delete(channel: Channel, method: QueueDelete) -> None:
    name = named_queue(channel, method.queue)
    channel.connection.access.require(Action.CONFIGURE, "queue", name)
    queue = channel.vhost.queues.get(name)
    if isinstance(queue, RemoteQueue):
        delete_elsewhere(channel, queue, method)
        return
    durable = _is_durable(channel, name)

    waits = answered = False

    def reply(count: int) -> None:
        count, channel.counted = count or channel.counted, 0
        if not method.nowait and channel.state is ChannelState.OPEN:
            channel.reply_defined(QueueDeleteOk(message_count=count), durable=durable)

    def answer(count: int) -> None:
        nonlocal answered
        answered = True
        if waits:
            channel.end_wait(partial(reply, count))
        else:
            reply(count)

    try:
        channel.vhost.delete_queue(
            name,
            if_unused=method.if_unused,
            if_empty=method.if_empty,
            owner=channel.connection,
            answer=answer,
        )
    except NotYet as wait:
        if isinstance(wait.until, Agreement):  # it is gone when the request is handled again
            channel.counted = channel.vhost.queues[name].ready
            channel.hold_notices()  # clients rely on the -ok coming before the cancel
        raise
    if not answered:
        waits = True
        channel.begin_wait()


QUEUE_METHODS: dict[type[Method], Callable[[Channel, Any], None]] = {
    QueueDeclare: _declare,
    QueueBind: _bind,
    QueueUnbind: _unbind,
    QueuePurge: _purge,
    QueueDelete: _delete,
}
