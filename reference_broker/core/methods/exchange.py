"""exchange.*: what each method of the class asks of the virtual host, and its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqkit.wire.methods import (
    ExchangeBind,
    ExchangeBindOk,
    ExchangeDeclare,
    ExchangeDeclareOk,
    ExchangeDelete,
    ExchangeDeleteOk,
    ExchangeUnbind,
    ExchangeUnbindOk,
    Method,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.exchange.definitions import exchange_key


def _declare(channel: Channel, method: ExchangeDeclare) -> None:
    exchange = channel.vhost.declare_exchange(
        method.exchange,
        method.type,
        passive=method.passive,
        durable=method.durable,
        auto_delete=method.auto_delete,
        internal=method.internal,
        arguments=method.arguments,
        access=channel.connection.access,
    )
    if method.nowait:
        return
    if method.passive:
        channel.reply_found(ExchangeDeclareOk(), exchange_key(channel.vhost.name, exchange.name))
    else:
        channel.reply_defined(ExchangeDeclareOk(), durable=exchange.durable)


def _is_durable(channel: Channel, name: str) -> bool:
    """True when the -ok for this exchange has to wait for the disk. A name that is free may have
    been deleted just now, and that not yet be on disk."""
    exchange = channel.vhost.exchanges.get(name)
    return exchange is None or exchange.durable


def _delete(channel: Channel, method: ExchangeDelete) -> None:
    durable = _is_durable(channel, method.exchange)
    waits = answered = False

    def reply() -> None:
        if not method.nowait and channel.state is ChannelState.OPEN:
            channel.reply_defined(ExchangeDeleteOk(), durable=durable)

    def answer() -> None:
        nonlocal answered
        answered = True
        if waits:
            channel.end_wait(reply)
        else:
            reply()

    channel.vhost.delete_exchange(
        method.exchange,
        if_unused=method.if_unused,
        access=channel.connection.access,
        answer=answer,
    )
    if not answered:
        waits = True
        channel.begin_wait()


def _require_binding(channel: Channel, method: ExchangeBind | ExchangeUnbind) -> None:
    channel.connection.access.require_binding(
        channel.vhost, method.source, method.destination, method.routing_key, to_queue=False
    )


def _bind(channel: Channel, method: ExchangeBind) -> None:
    _require_binding(channel, method)
    channel.vhost.bind(
        method.source,
        method.destination,
        method.routing_key,
        method.arguments,
        destination_is_queue=False,
        owner=channel.connection,
    )
    if not method.nowait:
        channel.reply_defined(ExchangeBindOk(), durable=_is_durable(channel, method.destination))


def _unbind(channel: Channel, method: ExchangeUnbind) -> None:
    _require_binding(channel, method)
    channel.vhost.unbind(
        method.source,
        method.destination,
        method.routing_key,
        method.arguments,
        destination_is_queue=False,
        owner=channel.connection,
    )
    if not method.nowait:
        channel.reply_defined(ExchangeUnbindOk(), durable=_is_durable(channel, method.destination))


EXCHANGE_METHODS: dict[type[Method], Callable[[Channel, Any], None]] = {
    ExchangeDeclare: _declare,
    ExchangeDelete: _delete,
    ExchangeBind: _bind,
    ExchangeUnbind: _unbind,
}
