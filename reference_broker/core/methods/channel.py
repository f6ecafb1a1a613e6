"""channel.*, access.*, confirm.* and tx.*: the methods that speak about the channel itself.

channel.open and channel.close-ok are not here: they make and end a channel, which is its
connection's part (:mod:`reference_broker.core.connection.connection`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqkit.wire import FrameType, encode_method
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
    TxCommitOk,
    TxRollback,
    TxRollbackOk,
    TxSelect,
    TxSelectOk,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.transactions import Transaction
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode


def _close(channel: Channel, method: ChannelClose) -> None:
    channel.close()


def _flow(channel: Channel, method: ChannelFlow) -> None:
    if not method.active:  # as RabbitMQ; a client that wants less lowers its prefetch
        raise ConnectionException(ReplyCode.NOT_IMPLEMENTED, "active=false")
    channel.reply(ChannelFlowOk(active=True))


def _access_request(channel: Channel, method: AccessRequest) -> None:
    """Grant the request, with which clients of AMQP 0-8 begin: permissions are checked when
    something is done."""
    channel.reply(AccessRequestOk())


def _confirm_select(channel: Channel, method: ConfirmSelect) -> None:
    if channel.transaction is not None:
        raise _refusal("cannot switch from tx to confirm mode")
    channel.select_confirms()
    if not method.nowait:
        channel.reply(ConfirmSelectOk())


def _tx_select(channel: Channel, method: TxSelect) -> None:
    if channel.confirms is not None:
        raise _refusal("cannot switch from confirm to tx mode")
    channel.select_transactions()
    channel.reply(TxSelectOk())


def _transaction(channel: Channel) -> Transaction:
    if channel.transaction is None:
        raise _refusal("channel is not transactional")
    return channel.transaction


def _tx_commit(channel: Channel, method: TxCommit) -> None:
    transaction = _transaction(channel)
    journal = channel.vhost.journal
    if not transaction.has_room(journal.free_space):
        channel.await_room()
        channel.park(FrameType.METHOD, encode_method(method))
        return
    tail = journal.tail

    def answer() -> None:
        if channel.state is ChannelState.OPEN:
            channel.reply_logged(TxCommitOk(), durable=journal.tail != tail)

    ids = (TxCommit.CLASS_ID, TxCommit.METHOD_ID)
    channel.perform(transaction.commit(), answer, ids)


def _tx_rollback(channel: Channel, method: TxRollback) -> None:
    _transaction(channel).rollback()
    channel.reply(TxRollbackOk())


def _refusal(text: str) -> ChannelException:
    return ChannelException(ReplyCode.PRECONDITION_FAILED, text)


CHANNEL_METHODS: dict[type[Method], Callable[[Channel, Any], None]] = {
    ChannelClose: _close,
    ChannelFlow: _flow,
    AccessRequest: _access_request,
    ConfirmSelect: _confirm_select,
    TxSelect: _tx_select,
    TxCommit: _tx_commit,
    TxRollback: _tx_rollback,
}
