"""Message counts of a virtual host: its exchanges, and the channels that are gone."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicConsume,
    BasicPublish,
    ConnectionCloseOk,
    ExchangeBind,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    TxCommit,
    TxRollback,
    TxSelect,
)
from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.channel.traffic import traffic_of
from reference_broker.core.queue.death import DeathReason
from reference_broker.core.vhost.traffic import Traffic, VHostTraffic, tables_dropped
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, LoneClient


def test_both_together() -> None:
    assert Traffic(publish=2, ack=1).plus(Traffic(publish=3, get=4)) == Traffic(
        publish=5, ack=1, get=4
    )


def test_a_virtual_host_that_is_deleted_stays_counted() -> None:
    past, other = VHostTraffic(), VHostTraffic()
    past.queues_created, past.past = 1, Traffic(publish=1)
    other.queues_created, other.past, other.sent_bytes = 2, Traffic(publish=2), 3
    other.past_by_type[QueueType.QUORUM] = Traffic(ack=4)
    vhost = LoneBroker().broker.vhosts["/"]
    letters = vhost.dead_letters
    letters.deaths[DeathReason.MAXLEN, QueueType.CLASSIC, True] = 5
    letters.tables_dropped = 7
    for _ in range(2):
        past.absorb(other, letters)
    assert (past.queues_created, past.past, past.sent_bytes) == (5, Traffic(publish=5), 6)
    assert past.past_by_type == {
        QueueType.CLASSIC: Traffic(),
        QueueType.QUORUM: Traffic(ack=8),
    }
    assert past.past_deaths.total() == 10
    assert (past.past_tables_dropped, tables_dropped(past, [vhost])) == (14, 21)


def bound(kind: str, arguments: dict[str, object] | None = None) -> tuple[LoneBroker, LoneClient]:
    """An exchange ``x`` with two queues behind it, ``a`` and ``b``, by their names."""
    lone = LoneBroker()
    client = lone.client()
    client.send(1, ExchangeDeclare("x", kind, arguments=arguments or {}))
    for name in "ab":
        client.send(1, QueueDeclare(name), QueueBind(name, "x", name))
    return lone, client


def counted(lone: LoneBroker) -> tuple[int, int]:
    """Messages that came in at ``x``, and queues that they were routed to."""
    vhost = lone.broker.vhosts["/"]
    exchange = vhost.exchanges["x"]
    assert vhost.traffic.routed == exchange.routed
    return exchange.published, exchange.routed


def test_a_message_counts_once_for_each_queue_that_it_was_routed_to() -> None:
    lone, client = bound("fanout")
    client.publish("", exchange="x")
    client.publish("", exchange="x")
    assert counted(lone) == (2, 4)


def test_a_message_whose_copy_spares_it_the_alternate_counts_where_it_went() -> None:
    lone, client = bound("direct", {"alternate-exchange": "amq.fanout"})
    for name in ("c", "d", "e"):
        client.send(1, QueueDeclare(name), QueueBind(name, "amq.fanout"))
    client.publish("nobody", exchange="x")
    assert counted(lone) == (1, 3)
    client.publish("nobody", exchange="x", properties=Properties(headers={"CC": ["a"]}))
    assert counted(lone) == (2, 4)


def test_copies_count_too() -> None:
    lone, client = bound("direct")
    copies = Properties(headers={"CC": ["b", "a"]})
    client.publish("a", exchange="x", properties=copies)
    assert counted(lone) == (1, 2)


def test_what_an_exchange_remembers_is_no_queue() -> None:
    lone, client = bound("fanout", {"x-message-id-window": 10})
    for _ in range(2):
        client.publish("", exchange="x", properties=Properties(message_id="m"))
    assert counted(lone) == (2, 2)


def test_a_transaction_counts_when_it_is_committed() -> None:
    lone, client = bound("headers")
    client.send(1, TxSelect())
    client.publish("", exchange="x")
    client.send(1, TxRollback())
    client.publish("", exchange="x")
    client.publish("", exchange="x")
    assert counted(lone) == (0, 0)
    client.send(1, TxCommit())
    assert counted(lone) == (2, 4)


def test_what_a_transaction_routes_nowhere_is_counted_at_the_commit() -> None:
    lone, client = bound("direct")
    client.send(1, TxSelect())
    client.publish("nowhere", exchange="x")
    channel = client.connection.channels[1]
    assert traffic_of(channel).drop_unroutable == 0
    client.send(1, TxCommit())
    assert traffic_of(channel).drop_unroutable == 1
    assert counted(lone) == (1, 0)


def test_what_went_through_a_virtual_host_that_is_deleted_stays_counted() -> None:
    lone, client = bound("fanout")
    client.publish("", exchange="x")
    broker = lone.broker
    broker.delete_vhost("/")
    broker.finish()
    assert (broker.past.routed, broker.past.past.publish) == (2, 1)
    client.send(0, ConnectionCloseOk())
    assert broker.past.received_bytes == client.connection.received_bytes > 0


@pytest.mark.parametrize("kind", ["direct", "headers"])
def test_a_message_that_had_to_wait_for_one_of_its_queues_counts_once(kind: str) -> None:
    lone = LoneBroker()
    client, other = lone.client(), lone.client()
    arguments = {"x-max-length": 50, "x-overflow": "reject-publish"}
    client.send(1, QueueDeclare("one"), QueueDeclare("full", arguments=arguments))
    client.send(1, ExchangeDeclare("x", "direct"), ExchangeDeclare("y", kind))
    client.send(1, ExchangeBind("y", "x", "one"))
    client.send(1, QueueBind("one", "y", "one", arguments={"x-match": "all"}))
    client.send(1, QueueBind("full", "x", "full"))
    for _ in range(50):
        client.publish("full", exchange="x")
    assert counted(lone) == (50, 50)
    lone.broker.budget.units = 6
    lone.turn()
    consume = method_frame(1, BasicConsume("full", "c", no_ack=True))
    copied = Properties(headers={"CC": ["full"]})
    publish = content_frames(1, BasicPublish("x", "one"), copied, b"x", FRAME_MAX)
    other.feed(consume + publish)
    assert not lone.turn(), "the queue has to hand out what is in it first"
    lone.complete()

    assert counted(lone) == (51, 52)
