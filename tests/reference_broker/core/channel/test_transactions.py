"""tx.*: what a transaction holds back, what its commit does, and what is left without one."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicQos,
    BasicRecover,
    BasicRecoverOk,
    BasicReject,
    BasicReturn,
    ChannelClose,
    ChannelCloseOk,
    ConfirmSelect,
    ConfirmSelectOk,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDelete,
    TxCommit,
    TxCommitOk,
    TxRollback,
    TxRollbackOk,
    TxSelect,
    TxSelectOk,
)
from reference_broker.core.base.limits import TRANSACTIONS_PER_WATERMARK, UNACKED_MAX, Limits
from reference_broker.core.channel.transactions import QUEUE_BYTES
from reference_broker.core.memory_watermark import held_bytes
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = Properties(delivery_mode=2)


def selected(lone: LoneBroker | None = None, messages: int = 0) -> tuple[LoneClient, Queue]:
    """A client with a transactional channel, and a queue with messages b"1", b"2", ..."""
    lone = lone or LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    for number in range(messages):
        client.publish("q", b"%d" % (number + 1))
    client.send(1, TxSelect())
    lone.sync()
    client.received()
    return client, lone.broker.vhosts["/"].queues["q"]


def refusal(client: LoneClient) -> tuple[int, str, int, int]:
    close = client.methods()[-1]
    assert isinstance(close, ChannelClose)
    return close.reply_code, close.reply_text, close.class_id, close.method_id


def bodies(client: LoneClient, count: int) -> list[bytes]:
    client.send(1, *[BasicGet("q", no_ack=True)] * count)
    return [received.body for received in client.received()]


def test_select_may_be_repeated_and_excludes_confirms() -> None:
    client = LoneBroker().client(channels=(1, 2))
    client.send(1, TxSelect(), TxSelect())
    assert client.methods() == [TxSelectOk(), TxSelectOk()]
    client.send(1, ConfirmSelect())
    text = "PRECONDITION_FAILED - cannot switch from tx to confirm mode"
    assert refusal(client) == (406, text, 85, 10)
    client.send(2, ConfirmSelect(), TxSelect())
    text = "PRECONDITION_FAILED - cannot switch from confirm to tx mode"
    assert client.methods() == [ConfirmSelectOk(), ChannelClose(406, text, 90, 10)]


@pytest.mark.parametrize(("method", "id"), [(TxCommit(), 20), (TxRollback(), 30)])
def test_without_select_there_is_nothing_to_end(method: Method, id: int) -> None:
    client = LoneBroker().client()
    client.send(1, method)
    text = "PRECONDITION_FAILED - channel is not transactional"
    assert refusal(client) == (406, text, 90, id)


def test_messages_are_in_their_queues_after_the_commit_and_in_order() -> None:
    client, queue = selected()
    for body in (b"1", b"2"):
        client.publish("q", body)
    assert queue.ready == 0
    client.send(1, TxCommit())
    assert client.methods() == [TxCommitOk()]
    assert bodies(client, 2) == [b"1", b"2"]


def test_a_rollback_drops_messages_and_what_follows_is_a_new_transaction() -> None:
    client, queue = selected()
    client.publish("q", b"1")
    client.send(1, TxRollback())
    client.publish("q", b"2")
    client.send(1, TxCommit(), TxCommit(), TxRollback())
    assert client.methods() == [TxRollbackOk(), TxCommitOk(), TxCommitOk(), TxRollbackOk()]
    assert (queue.ready, bodies(client, 1)) == (1, [b"2"])


def test_publishes_of_before_the_select_are_not_its_own() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"))
    client.publish("q", b"at once")
    client.send(1, TxSelect())
    client.publish("q", b"held")
    client.received()
    assert bodies(client, 2) == [b"at once", b""]


def test_a_commit_is_answered_when_everything_is_on_disk() -> None:
    lone = LoneBroker(RecordingJournal())
    client, _ = selected(lone)
    client.publish("q", b"1", properties=PERSISTENT)
    client.send(1, TxCommit(), BasicQos(prefetch_count=1))
    assert client.methods() == [], "and what comes later waits behind it"
    lone.sync()
    assert [method.NAME for method in client.methods()] == ["tx.commit-ok", "basic.qos-ok"]
    client.publish("q", b"2")
    client.send(1, TxCommit())
    assert client.methods() == [TxCommitOk()], "a transient message needs no disk"


def test_a_mandatory_message_without_a_queue_is_returned_by_the_commit() -> None:
    client, _ = selected()
    client.publish("nowhere", mandatory=True)
    client.publish("nowhere")
    assert client.methods() == []
    client.send(1, TxCommit())
    assert client.methods() == [BasicReturn(312, "NO_ROUTE", "", "nowhere"), TxCommitOk()]


def test_a_publish_that_is_refused_takes_the_transaction_with_it() -> None:
    client, queue = selected(messages=1)
    client.send(1, BasicGet("q"), BasicAck(1))
    client.publish("q", b"2")
    client.publish("k", exchange="missing")
    text = "NOT_FOUND - no exchange 'missing' in vhost '/'"
    assert refusal(client) == (404, text, 60, 40)
    assert (queue.ready, queue.unacked) == (1, 0)
    assert client.connection.broker.transactions.held_bytes == 0


def test_routes_are_those_of_the_publish() -> None:
    client, queue = selected()
    client.publish("late")
    client.send(1, QueueDeclare("gone"))
    client.publish("gone", mandatory=True)
    client.publish("gone")
    client.send(1, QueueDeclare("late"), QueueDelete("gone"), TxCommit())
    assert client.methods()[-2:] == [BasicReturn(312, "NO_ROUTE", "", "gone"), TxCommitOk()]
    assert queue.env.route("", "late", b"")[0].ready == 0  # type: ignore[index]


def test_a_queue_that_refuses_makes_it_a_partial_completion() -> None:
    client, queue = selected()
    full = QueueDeclare("full", arguments={"x-max-length": 0, "x-overflow": "reject-publish"})
    client.send(1, full, QueueBind("full", "amq.fanout"), QueueBind("q", "amq.fanout"))
    client.send(1, QueueDeclare("q", durable=True))
    client.publish("", b"both", exchange="amq.fanout")
    client.publish("q", b"after")
    client.send(1, TxCommit())
    text = "PRECONDITION_FAILED - partial tx completion"
    assert refusal(client) == (406, text, 90, 20)
    assert queue.ready == 2


@pytest.mark.parametrize(
    ("settlement", "ready", "left"),
    [
        (BasicAck(2, True), 0, 1),
        (BasicNack(2, True, True), 2, 1),
        (BasicNack(2, False, False), 0, 2),
        (BasicReject(1, True), 1, 2),
    ],
)
def test_settlements_wait_for_the_commit(settlement: Method, ready: int, left: int) -> None:
    client, queue = selected(messages=3)
    client.send(1, *[BasicGet("q")] * 3)
    client.send(1, settlement)
    assert (queue.ready, queue.unacked) == (0, 3)
    assert len(client.connection.channels[1].unacked) == left
    client.send(1, TxCommit())
    assert (queue.ready, queue.unacked) == (ready, left)


@pytest.mark.parametrize("again", [BasicAck(1), BasicNack(1), BasicReject(1), BasicAck(9)])
def test_a_tag_is_settled_once_in_a_transaction(again: Method) -> None:
    client, _ = selected(messages=1)
    client.send(1, BasicGet("q"), BasicAck(1), again)
    tag = again.delivery_tag  # type: ignore[attr-defined]
    text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
    assert refusal(client) == (406, text, 60, again.METHOD_ID)


def test_a_rollback_brings_deliveries_back_to_be_settled_again() -> None:
    client, queue = selected(messages=4)
    client.send(1, *[BasicGet("q")] * 4)
    client.send(1, BasicAck(3), BasicReject(1, False), BasicNack(2, False, True), TxRollback())
    assert client.methods()[-1] == TxRollbackOk()
    assert list(client.connection.channels[1].unacked) == [1, 2, 3, 4]
    assert (queue.ready, queue.unacked) == (0, 4)
    client.send(1, BasicAck(3, True), TxCommit())
    assert (queue.acked, queue.unacked) == (3, 1)


def test_a_prefetch_has_room_again_after_the_commit_only() -> None:
    client, _ = selected(messages=2)
    client.send(1, BasicQos(prefetch_count=1), BasicConsume("q", "tag"))
    client.send(1, BasicAck(1))
    assert len([m for m in client.methods() if isinstance(m, BasicDeliver)]) == 1
    client.send(1, TxCommit())
    ok, deliver = client.received()
    assert (ok.method, deliver.body) == (TxCommitOk(), b"2")
    client.send(1, BasicAck(2), TxRollback())
    channel = client.connection.channels[1]
    assert (channel.outstanding, len(channel.unacked)) == (1, 1)


def test_recover_leaves_alone_what_the_transaction_has_settled() -> None:
    client, queue = selected(messages=2)
    client.send(1, BasicGet("q"), BasicGet("q"), BasicAck(1), BasicRecover(True))
    assert client.methods()[-1] == BasicRecoverOk()
    assert (queue.ready, queue.unacked) == (1, 1)
    client.send(1, TxRollback(), BasicAck(1), TxCommit())
    assert (queue.ready, queue.acked) == (1, 1)


@pytest.mark.parametrize("end", ["close", "disconnect", "error"])
def test_without_a_commit_a_channels_end_undoes_everything(end: str) -> None:
    client, queue = selected(messages=1)
    client.send(1, BasicGet("q"), BasicAck(1))
    client.publish("q", b"never")
    if end == "close":
        client.send(1, ChannelClose())
        assert client.methods()[-1] == ChannelCloseOk()
    elif end == "disconnect":
        client.disconnect()
    else:
        client.send(1, BasicAck(7))
    assert (queue.ready, queue.unacked) == (1, 0)
    assert client.connection.broker.transactions.held_bytes == 0
    other = queue.env.route("", "q", b"")
    assert other is not None
    assert other[0] is queue
    assert queue.requeued == 1


def test_a_settlement_of_a_queue_that_is_gone_does_nothing() -> None:
    client, _ = selected(messages=1)
    client.send(1, BasicGet("q"), BasicAck(1), QueueDelete("q"), TxCommit())
    assert client.methods()[-1] == TxCommitOk()


def test_what_transactions_hold_is_bounded_together_and_counted_as_memory() -> None:
    lone = LoneBroker(limits=Limits(memory_high_watermark_bytes=100_000))
    first, _ = selected(lone)
    second = lone.client()
    second.send(1, TxSelect())
    before = held_bytes(lone.broker)
    first.publish("q", b"x" * 20_000)
    assert held_bytes(lone.broker) - before >= 20_000
    second.publish("q", b"x" * 3_000)
    second.publish("q", b"x" * 3_000)
    code, text, *ids = refusal(second)
    assert (code, ids) == (406, [60, 40])
    assert f"hold more than {100_000 // TRANSACTIONS_PER_WATERMARK} bytes" in text
    first.send(1, TxRollback())
    assert lone.broker.transactions.held_bytes == 0
    first.publish("q", b"x" * 20_000)
    first.send(1, TxCommit())
    assert lone.broker.transactions.held_bytes == 0


def test_the_route_of_a_held_message_counts_too() -> None:
    lone = LoneBroker()
    client, _ = selected(lone)
    held = []
    for queues in (1, 40):
        for number in range(queues):
            client.send(1, QueueDeclare(f"r{number}"), QueueBind(f"r{number}", "amq.fanout", ""))
        client.publish("k", b"x", exchange="amq.fanout")
        held.append(lone.broker.transactions.held_bytes)
        client.send(1, TxRollback())
    assert held[1] - held[0] == 39 * QUEUE_BYTES


def test_deliveries_that_are_settled_and_not_committed_count_as_unacked() -> None:
    client, _ = selected(messages=2)
    transaction = client.connection.channels[1].transaction
    assert transaction is not None
    client.send(1, BasicGet("q"), BasicAck(1))
    assert transaction.unacked == 1
    transaction.unacked = UNACKED_MAX
    client.received()
    client.send(1, BasicGet("q"))
    assert refusal(client)[0] == 406


def test_a_consumer_without_acks_and_a_get_are_not_transactional() -> None:
    client, queue = selected(messages=1)
    client.send(1, BasicGet("q", no_ack=True), TxRollback(), BasicGet("q"))
    got, _, empty = client.methods()
    assert isinstance(got, BasicGetOk)
    assert empty == BasicGetEmpty()
    assert queue.unacked == 0


@pytest.mark.parametrize("copies", [{}, {"BCC": ["w", "w2"]}])
def test_what_is_seen_once_is_looked_at_again_by_each_commit(copies: dict[str, list[str]]) -> None:
    lone = LoneBroker()
    window = {"x-message-id-window": 10}
    clients = [lone.client() for _ in range(2)]
    clients[0].send(1, QueueDeclare("w", durable=True, arguments=window))
    clients[0].send(1, QueueDeclare("w2", durable=True))
    for client in clients:
        client.send(1, TxSelect())
        for name in ("a", "a", client.connection.id):
            properties = Properties(delivery_mode=2, message_id=str(name), headers=dict(copies))
            client.publish("w", b"body", properties=properties)
    for client in clients:
        client.send(1, TxCommit())
    queues = lone.broker.vhosts["/"].queues
    assert queues["w"].ready == 3
    assert queues["w2"].ready == (6 if copies else 0)


def test_a_commit_draws_no_other_route() -> None:
    lone = LoneBroker()
    client = lone.client()
    window = {"x-message-id-window": 100}
    client.send(1, ExchangeDeclare("x", "x-random", durable=True, arguments=window))
    names = [f"q{number}" for number in range(8)]
    for name in names:
        client.send(1, QueueDeclare(name, durable=True), QueueBind(name, "x", ""))
    client.send(1, TxSelect())
    queues = lone.broker.vhosts["/"].queues
    for _ in range(2):  # the second time each of them has been seen
        for number in range(40):
            properties = Properties(delivery_mode=2, message_id=str(number))
            client.publish("", b"body", exchange="x", properties=properties)
        client.send(1, TxCommit())
        assert sum(queues[name].ready for name in names) == 40


def test_what_a_commit_can_no_more_route_it_stores_where_it_was_routed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    client.send(1, QueueDeclare("w", durable=True, arguments={"x-message-id-window": 10}))
    client.send(1, ExchangeDeclare("t", "topic"))
    client.send(1, QueueBind("q", "t", "a.#"), QueueBind("w", "t", "a.#"), TxSelect())
    other = lone.client()
    other.publish("w", b"seen", properties=Properties(delivery_mode=2, message_id="m"))
    properties = Properties(delivery_mode=2, message_id="n")
    client.publish("a.b", b"body", exchange="t", properties=properties)
    other.publish("w", b"seen", properties=properties)
    monkeypatch.setattr("reference_broker.core.exchange.topic_trie.PLACES_MAX", 0)
    client.send(1, TxCommit())
    assert client.methods()[-1] == TxCommitOk()
    queues = lone.broker.vhosts["/"].queues
    assert (queues["q"].ready, queues["w"].ready) == (1, 2)


def test_a_mandatory_message_whose_queue_is_gone_is_returned_by_an_exchange_with_a_window() -> None:
    lone = LoneBroker()
    client = lone.client()
    window = {"x-message-id-window": 10}
    client.send(1, ExchangeDeclare("x", "direct", durable=True, arguments=window))
    client.send(1, QueueDeclare("q", durable=True), QueueBind("q", "x", "k"), TxSelect())
    properties = Properties(delivery_mode=2, message_id="m")
    client.publish("k", b"body", exchange="x", properties=properties, mandatory=True)
    lone.client().send(1, QueueDelete("q"))
    client.methods()
    client.send(1, TxCommit())
    assert [type(method) for method in client.methods()] == [BasicReturn, TxCommitOk]


def test_what_a_rolled_back_transaction_held_was_not_seen() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("w", durable=True, arguments={"x-message-id-window": 10}))
    client.send(1, TxSelect())
    for end in (TxRollback(), TxCommit()):
        client.publish("w", b"body", properties=Properties(delivery_mode=2, message_id="a"))
        client.send(1, end)
    assert lone.broker.vhosts["/"].queues["w"].ready == 1


def test_an_exchange_that_is_gone_with_its_window_keeps_nothing_out() -> None:
    lone = LoneBroker()
    client = lone.client()
    vhost = lone.broker.vhosts["/"]
    vhost.declare_queue("q", durable=True)
    vhost.declare_queue("w", durable=True, arguments={"x-message-id-window": 10})
    vhost.declare_exchange("gone", "fanout", durable=True)
    for name in "qw":
        vhost.bind("gone", name, "", destination_is_queue=True)
    client.send(1, TxSelect())
    client.publish("", b"x", exchange="gone", properties=Properties(message_id="a"))
    vhost.delete_exchange("gone")
    client.send(1, TxCommit())
    assert [queue.ready for queue in vhost.queues.values()] == [1, 1]


def test_what_a_commit_publishes_is_handed_out_before_what_it_settles_makes_room() -> None:
    lone = LoneBroker()
    client, _ = selected(lone, messages=1)
    other = lone.client()
    client.send(1, BasicQos(prefetch_count=2), BasicConsume("q", "first"))
    other.send(1, BasicConsume("q", "second", no_ack=True))
    client.received()
    for body in (b"a", b"b", b"c"):
        client.publish("q", body)
    client.send(1, BasicReject(1, requeue=False), TxCommit())
    assert [received.body for received in client.received() if received.header] == [b"a"]
    assert [received.body for received in other.received() if received.header] == [b"b", b"c"]
