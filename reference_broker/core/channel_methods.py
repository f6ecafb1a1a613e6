"""channel.*, access.*, confirm.* and tx.*: the methods that speak about the channel itself.

channel.open and channel.close-ok are not here: they make and end a channel, which is its
connection's part (:mod:`reference_broker.core.connection`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqkit.wire.methods import (
    AccessRequest,
    AccessRequestOk,
    ChannelClose,
    ChannelFlow,
    ChannelFlowOk,
    ConfirmSelect,
    ConfirmSelectOk,
    Method,
    TxCommit,
    TxRollback,
    TxSelect,
)
from reference_broker.core.channel import Channel
from reference_broker.core.confirms import ChannelConfirms
from reference_broker.errors import ConnectionException, ReplyCode


def _close(channel: Channel, method: ChannelClose) -> None:
    channel.close()


def _flow(channel: Channel, method: ChannelFlow) -> None:
    if not method.active:  # as RabbitMQ; a client that wants less lowers its prefetch
        raise ConnectionException(ReplyCode.NOT_IMPLEMENTED, "active=false")
    channel.reply(ChannelFlowOk(active=True))


def _access_request(channel: Channel, method: AccessRequest) -> None:
    """Clients of AMQP 0-8 ask before all else; permissions are checked when something is done."""
    channel.reply(AccessRequestOk())


def _confirm_select(channel: Channel, method: ConfirmSelect) -> None:
    if channel.confirms is None:
        channel.confirms = ChannelConfirms(channel)
    if not method.nowait:
        channel.reply(ConfirmSelectOk())


def _transaction(channel: Channel, method: Method) -> None:
    raise ConnectionException(ReplyCode.NOT_IMPLEMENTED, "transactions: use publisher confirms")


CHANNEL_METHODS: dict[type[Method], Callable[[Channel, Any], None]] = {
    ChannelClose: _close,
    ChannelFlow: _flow,
    AccessRequest: _access_request,
    ConfirmSelect: _confirm_select,
    TxSelect: _transaction,
    TxCommit: _transaction,
    TxRollback: _transaction,
}
