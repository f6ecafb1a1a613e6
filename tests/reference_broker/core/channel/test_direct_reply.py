"""Direct reply-to: requests, answers, and what becomes of an address."""

from __future__ import annotations

import re

import pytest

from mqkit.wire import Properties, decode_header
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicReturn,
    ChannelClose,
    ConnectionClose,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    TxCommit,
    TxRollback,
    TxSelect,
)
from reference_broker.core.base.limits import REPLY_OUTPUT_BYTES_MAX
from reference_broker.core.channel.direct_reply import ADDRESS_PREFIX, PSEUDO_QUEUE
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

ASKS = Properties(reply_to=PSEUDO_QUEUE, correlation_id="7")
CONSUME = BasicConsume(PSEUDO_QUEUE, "replies", no_ack=True)


def asked(lone: LoneBroker) -> tuple[LoneClient, LoneClient, str]:
    """A client that has asked, a server that was asked, and where it is to answer."""
    client, server = lone.client(), lone.client(channels=(1, 2))
    server.send(1, QueueDeclare("rpc"), BasicConsume("rpc", "server", no_ack=True))
    server.received()
    client.send(1, CONSUME)
    client.publish("rpc", b"question", properties=ASKS)
    assert client.methods() == [BasicConsumeOk("replies")]
    (question,) = server.received()
    properties = decode_header(question.header)[1]
    assert properties.correlation_id == "7"
    assert properties.reply_to is not None
    return client, server, properties.reply_to


def refusal(client: LoneClient) -> tuple[int, str, int, int]:
    close = client.methods()[-1]
    assert isinstance(close, (ChannelClose, ConnectionClose))
    return close.reply_code, close.reply_text.partition(" - ")[2], close.class_id, close.method_id


def test_an_answer_goes_to_the_channel_that_asked() -> None:
    client, server, address = asked(LoneBroker())
    assert re.fullmatch(re.escape(ADDRESS_PREFIX) + r"[\w-]+\.[\w-]{22}==", address)
    server.publish(address, b"answer", properties=Properties(correlation_id="7"))
    server.publish(address, b"", mandatory=True)
    first, second = client.received()
    assert first.method == BasicDeliver("replies", 1, False, "", address)
    assert first.body == b"answer"
    assert decode_header(first.header)[1].correlation_id == "7"
    assert second.method == BasicDeliver("replies", 2, False, "", address)
    assert server.methods() == [], "not returned, as it was delivered"


def test_delivery_tags_are_the_channels() -> None:
    client, server, address = asked(LoneBroker())
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    client.send(1, BasicGet("q"))
    server.publish(address)
    deliver = client.methods()[-1]
    assert isinstance(deliver, BasicDeliver)
    assert deliver.delivery_tag == 2
    client.send(1, BasicAck(2))
    assert refusal(client) == (406, "unknown delivery tag 2", 60, 80)


def test_addresses_differ_and_last_as_long_as_their_consumer() -> None:
    lone = LoneBroker()
    client, server, address = asked(lone)
    client.send(1, BasicCancel("replies"), CONSUME)
    assert client.methods() == [BasicCancelOk("replies"), BasicConsumeOk("replies")]
    server.publish(address, mandatory=True)
    assert server.methods() == [BasicReturn(312, "NO_ROUTE", "", address)]
    assert client.methods() == []
    client.publish("rpc", properties=ASKS)
    assert decode_header(server.received()[0].header)[1].reply_to != address


@pytest.mark.parametrize("end", ["close", "disconnect", "error"])
def test_nothing_is_left_of_a_channel_that_is_gone(end: str) -> None:
    lone = LoneBroker()
    client, server, address = asked(lone)
    if end == "close":
        client.send(1, ChannelClose())
    elif end == "disconnect":
        client.disconnect()
    else:
        client.send(1, BasicAck(7))
    assert len(lone.broker.direct_replies) == 0
    server.select_confirms()
    server.publish(address)
    assert server.methods() == [BasicAck(1)]
    server.send(1, QueueDeclare(address, passive=True))
    assert refusal(server) == (404, f"no queue '{address}' in vhost '/'", 50, 10)


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        ([BasicConsume(PSEUDO_QUEUE)], (406, "reply consumer cannot acknowledge", 60, 20)),
        ([CONSUME, CONSUME], (406, "reply consumer already set", 60, 20)),
        (
            [QueueDeclare("q"), BasicConsume("q", "replies"), CONSUME],
            (530, "attempt to reuse consumer tag 'replies'", 60, 20),
        ),
        (
            [CONSUME, QueueDeclare("q"), BasicConsume("q", "replies")],
            (530, "attempt to reuse consumer tag 'replies'", 60, 20),
        ),
        ([QueueDeclare(ADDRESS_PREFIX + "x")], (404, None, 50, 10)),
        ([QueueDeclare(PSEUDO_QUEUE + "x")], (404, None, 50, 10)),
        ([CONSUME, BasicGet(PSEUDO_QUEUE)], (404, None, 60, 70)),
        ([CONSUME, QueueBind(PSEUDO_QUEUE, "amq.direct", "k")], (404, None, 50, 20)),
        ([CONSUME, QueuePurge(PSEUDO_QUEUE)], (404, None, 50, 30)),
        ([BasicConsume(ADDRESS_PREFIX + "x", no_ack=True)], (404, None, 60, 20)),
    ],
)
def test_what_is_refused(methods: list[Method], expected: tuple[int, str | None, int, int]) -> None:
    client = LoneBroker().client()
    client.send(1, *methods)
    code, text, *ids = refusal(client)
    assert (code, *ids) == (expected[0], *expected[2:])
    assert expected[1] is None or text == expected[1]


def test_the_pseudo_queue_can_be_declared_and_deleted_and_is_not_there() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(
        1,
        QueueDeclare(PSEUDO_QUEUE),
        QueueDeclare(PSEUDO_QUEUE, passive=True, nowait=True),
        QueueDelete(PSEUDO_QUEUE),
    )
    assert client.methods() == [QueueDeclareOk(PSEUDO_QUEUE, 0, 1), QueueDeleteOk(0)]
    assert list(lone.broker.vhosts["/"].queues) == []


def test_a_server_can_see_whether_somebody_still_waits() -> None:
    _, server, address = asked(LoneBroker())
    server.send(2, QueueDeclare(address, passive=True), QueueDeclare(address))
    assert server.methods() == [QueueDeclareOk(address, 0, 1)] * 2


def test_who_takes_no_answers_can_not_ask_for_them() -> None:
    client = LoneBroker().client(channels=(1, 2))
    client.send(2, CONSUME)
    client.received()
    wrong = Properties(reply_to=PSEUDO_QUEUE, expiration="soon", user_id="bob")
    client.publish("nowhere", properties=wrong)
    assert refusal(client) == (406, "fast reply consumer does not exist", 60, 40)


def test_a_user_id_is_looked_at_before_the_expiration() -> None:
    client = LoneBroker().client()
    client.publish("nowhere", properties=Properties(expiration="soon", user_id="bob"))
    assert "user_id property set to 'bob'" in refusal(client)[1]


def test_other_names_for_an_answer_are_left_alone() -> None:
    lone = LoneBroker()
    client, server, address = asked(lone)
    for reply_to in ("q", PSEUDO_QUEUE + "x", address):
        client.publish("rpc", properties=Properties(reply_to=reply_to))
        assert decode_header(server.received()[-1].header)[1].reply_to == reply_to


def test_an_address_means_something_to_the_default_exchange_only() -> None:
    client, server, address = asked(LoneBroker())
    server.publish(address, exchange="amq.direct", mandatory=True)
    assert server.methods() == [BasicReturn(312, "NO_ROUTE", "amq.direct", address)]
    assert client.methods() == []


def test_an_answer_with_copies_goes_to_queues_as_well() -> None:
    client, server, address = asked(LoneBroker())
    server.publish(address, b"answer", properties=Properties(headers={"CC": ["rpc"]}))
    assert [received.body for received in client.received()] == [b"answer"]
    assert [received.body for received in server.received()] == [b"answer"]


def test_an_answer_in_a_transaction_waits_for_its_commit() -> None:
    client, server, address = asked(LoneBroker())
    server.send(2, TxSelect())
    server.publish(address, b"no", channel=2)
    server.send(2, TxRollback())
    server.publish(address, b"yes", channel=2)
    assert client.methods() == []
    server.send(2, TxCommit())
    assert [received.body for received in client.received()] == [b"yes"]


def test_answers_that_a_client_does_not_read_are_lost_and_not_kept() -> None:
    client, server, address = asked(LoneBroker())
    client.connection.pause_writing()
    for _ in range(REPLY_OUTPUT_BYTES_MAX // 1_000_000 + 2):
        server.publish(address, b"x" * 1_000_000)
    assert client.connection.output_size < REPLY_OUTPUT_BYTES_MAX + 1_100_000
    server.publish(address, b"x", mandatory=True)
    assert server.methods() == [BasicReturn(312, "NO_ROUTE", "", address)]


def of_another_node(home: ScriptedHome) -> tuple[LoneClient, str]:
    """A client of node 1, and the address of somebody on node 2, whose home is ``home``."""
    other = LoneBroker()
    other.broker.direct_replies.join(2, lambda _: None)
    _, _, address = asked(other)
    lone = LoneBroker()
    lone.broker.direct_replies.join(1, {2: home}.get)
    return lone.client(), address


def test_an_answer_for_another_node_goes_there() -> None:
    home = ScriptedHome()
    client, address = of_another_node(home)
    client.publish(address, b"answer", mandatory=True)
    assert client.methods() == []
    (sent,) = home.published
    assert (sent.queue_ids, bytes(sent.content.body)) == ((), b"answer")


@pytest.mark.parametrize("lacks", ["is_up", "has_room"])
def test_an_answer_for_a_node_that_takes_none_is_returned(lacks: str) -> None:
    home = ScriptedHome()
    client, address = of_another_node(home)
    setattr(home, lacks, False)
    client.publish(address, b"answer", mandatory=True)
    (returned,) = client.methods()
    assert isinstance(returned, BasicReturn)
    assert home.published == []
