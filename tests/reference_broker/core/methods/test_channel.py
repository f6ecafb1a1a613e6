"""channel.flow, access.request, confirm.select and tx.*: their answers and refusals."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import (
    AccessRequest,
    AccessRequestOk,
    BasicAck,
    ChannelClose,
    ChannelFlow,
    ChannelFlowOk,
    ConfirmSelect,
    ConfirmSelectOk,
    ConnectionClose,
    QueueDeclare,
    TxCommit,
    TxCommitOk,
    TxRollback,
    TxRollbackOk,
    TxSelect,
    TxSelectOk,
)
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = Properties(delivery_mode=2)


def client_of() -> LoneClient:
    return LoneBroker().client()


def closed_connection(client: LoneClient) -> tuple[int, str, int, int]:
    close = client.methods()[-1]
    assert isinstance(close, ConnectionClose)
    return close.reply_code, close.reply_text, close.class_id, close.method_id


def test_access_request_gets_a_ticket() -> None:
    client = client_of()
    client.send(1, AccessRequest("/data"))
    assert client.methods() == [AccessRequestOk(1)]


def test_flow() -> None:
    client = client_of()
    client.send(1, ChannelFlow(True))
    assert client.methods() == [ChannelFlowOk(True)]
    client.send(1, ChannelFlow(False))
    assert closed_connection(client) == (540, "NOT_IMPLEMENTED - active=false", 20, 20)


def test_confirm_select_twice_keeps_the_numbers() -> None:
    client = client_of()
    client.send(1, ConfirmSelect(), ConfirmSelect(nowait=True))
    client.publish("nowhere")
    client.send(1, ConfirmSelect())
    client.publish("nowhere")
    assert client.methods() == [
        ConfirmSelectOk(),
        BasicAck(1, False),
        ConfirmSelectOk(),
        BasicAck(2, False),
    ]


def test_the_first_mode_of_a_channel_is_its_only_one() -> None:
    client = LoneBroker().client(channels=(1, 2))
    client.send(1, ConfirmSelect(nowait=True), TxSelect())
    client.send(2, TxSelect(), ConfirmSelect())
    refused = "PRECONDITION_FAILED - cannot switch from {} to {} mode"
    assert client.methods() == [
        ChannelClose(406, refused.format("confirm", "tx"), 90, 10),
        TxSelectOk(),
        ChannelClose(406, refused.format("tx", "confirm"), 85, 10),
    ]


@pytest.mark.parametrize("method", [TxCommit(), TxRollback()])
def test_nothing_ends_where_nothing_was_selected(method: TxCommit | TxRollback) -> None:
    client = client_of()
    client.send(1, ConfirmSelect(nowait=True), method)
    text = "PRECONDITION_FAILED - channel is not transactional"
    assert client.methods() == [ChannelClose(406, text, method.CLASS_ID, method.METHOD_ID)]


def test_routes_of_before_the_select_are_looked_up_again() -> None:
    client = client_of()
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    assert len(client.connection.channels[1].targets) == 1
    client.send(1, TxSelect())
    assert len(client.connection.channels[1].targets) == 0
    client.publish("q")
    client.send(1, TxSelect())
    assert len(client.connection.channels[1].targets) == 1


def test_a_commit_waits_for_the_disk_only_where_it_has_logged_something() -> None:
    lone = LoneBroker(RecordingJournal())
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    lone.sync()
    client.send(1, TxSelect())
    client.received()
    lone.client().send(1, QueueDeclare("unsynced", durable=True, nowait=True))
    client.publish("q")
    client.send(1, TxCommit())
    assert client.methods() == [TxCommitOk()]
    client.publish("q", properties=PERSISTENT)
    client.send(1, TxCommit(), TxRollback())
    assert client.methods() == []
    assert client.connection.channels[1].state is ChannelState.SUSPENDED
    lone.sync()
    assert client.methods() == [TxCommitOk(), TxRollbackOk()]
