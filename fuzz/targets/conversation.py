"""A client of the broker that says anything, before its login and after it."""

from __future__ import annotations

from fuzz.target import Target
from mqkit.wire import PROTOCOL_HEADER, Properties, ReplyCode, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicPublish,
    ChannelClose,
    ChannelOpen,
    ConfirmSelect,
    ConnectionClose,
    ConnectionOpen,
    ConnectionStartOk,
    ConnectionTuneOk,
    Method,
    QueueBind,
    QueueDeclare,
    TxCommit,
    TxSelect,
)
from reference_broker.simulation.disk.bookkeeping import held_for_clients
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


def check(data: bytes) -> None:
    """No exception, no internal error, and nothing is held when it has gone."""
    for logged_in in (False, True):
        lone = LoneBroker()
        client = lone.client() if logged_in else lone.socket()
        client.send_bytes(data[: len(data) // 2])
        client.send_bytes(data[len(data) // 2 :])
        if logged_in:
            _check_answers(client)
        client.disconnect()
        assert not lone.broker.connections
        assert set(held_for_clients(lone.broker).values()) == {0}, held_for_clients(lone.broker)


def _check_answers(client: LoneClient) -> None:
    for method in client.methods():
        if isinstance(method, ChannelClose | ConnectionClose):
            assert method.reply_code != ReplyCode.INTERNAL_ERROR, method


def seeds() -> list[bytes]:
    publish = content_frames(1, BasicPublish("", "q"), Properties(delivery_mode=2), b"body", 4096)
    declare = [QueueDeclare("q", durable=True), QueueBind("q", "amq.topic", "a.#")]
    plain = _said(*declare) + publish * 2 + _said(BasicGet("q"), BasicConsume("q"), BasicAck(1))
    in_tx = _said(TxSelect(), *declare) + publish + _said(TxCommit(), ChannelClose(200, "bye"))
    confirmed = _said(ConfirmSelect(), *declare) + publish
    login = [ConnectionStartOk({}, "PLAIN", b"\0guest\0guest"), ConnectionTuneOk(10, 4096, 0)]
    start = b"".join(method_frame(0, each) for each in (*login, ConnectionOpen("/")))
    return [plain, in_tx, confirmed, PROTOCOL_HEADER + start + _said(ChannelOpen()) + plain]


def _said(*methods: Method) -> bytes:
    return b"".join(method_frame(1, each) for each in methods)


TARGET = Target("conversation", check, seeds)
