"""Publishes and dead letters to queues of other nodes."""

from __future__ import annotations

from functools import partial

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import (
    BasicAck,
    BasicGet,
    BasicNack,
    BasicReject,
    ChannelClose,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    QueueDelete,
    TxCommit,
    TxCommitOk,
    TxSelect,
)
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = Properties(delivery_mode=2)


def node_of(
    *names: str, journal: RecordingJournal | None = None
) -> tuple[LoneBroker, ScriptedHome]:
    """A node, and another one that has queues of these names, with ids from 7 on."""
    lone = LoneBroker(journal=journal)
    home = ScriptedHome()
    for number, name in enumerate(names, 7):
        lone.broker.vhosts["/"].enter_queue(QueueDefinition(number, name, False, {}), home)
    return lone, home


def bodies(home: ScriptedHome) -> list[bytes]:
    return [bytes(it.content.body) for it in home.published]


def confirming(lone: LoneBroker) -> LoneClient:
    client = lone.client()
    client.select_confirms()
    return client


def test_a_publish_goes_to_the_home_and_is_confirmed_when_that_says_so() -> None:
    lone, home = node_of("q")
    client = confirming(lone)
    for body in (b"1", b"2", b"3"):
        client.publish("q", body)
    assert bodies(home) == [b"1", b"2", b"3"]
    assert client.methods() == []
    lone.take(lambda: home.confirm(2))
    assert client.methods() == [BasicAck(1), BasicAck(2)]
    lone.take(home.confirm)
    assert client.methods() == [BasicAck(3)]


def test_a_refused_publish_is_nacked_alone() -> None:
    lone, home = node_of("q")
    client = confirming(lone)
    for _ in range(3):
        client.publish("q")
    lone.take(lambda: home.refuse(2))
    assert client.methods() == [BasicNack(2)]
    lone.take(home.confirm)
    assert client.methods() == [BasicAck(1), BasicAck(3)]


def test_a_publish_is_nacked_once_however_many_nodes_refuse_it() -> None:
    lone, home = node_of("q")
    other = ScriptedHome("c")
    lone.broker.vhosts["/"].enter_queue(QueueDefinition(20, "p", False, {}), other)
    client = confirming(lone)
    client.send(1, QueueBind("q", "amq.fanout"), QueueBind("p", "amq.fanout"))
    client.send(1, QueueDeclare("here"), QueueBind("here", "amq.fanout"))
    client.received()
    client.publish("", exchange="amq.fanout")
    assert [it.queue_ids for it in home.published + other.published] == [(7,), (20,)]
    lone.take(lambda: home.refuse(1))
    lone.take(lambda: other.refuse(1))
    lone.take(home.confirm)
    lone.take(other.confirm)
    assert client.methods() == [BasicNack(1)]
    assert lone.broker.vhosts["/"].queues["here"].ready == 1


def test_one_message_goes_to_a_node_for_all_of_its_queues() -> None:
    lone, home = node_of("q", "p")
    client = lone.client()
    client.send(1, QueueBind("q", "amq.fanout"), QueueBind("p", "amq.fanout"))
    client.publish("", b"once", exchange="amq.fanout")
    assert [it.queue_ids for it in home.published] == [(7, 8)]
    assert [queue.published for queue in lone.broker.vhosts["/"].queues.values()] == [1, 1]


def test_a_confirm_waits_for_the_disk_here_and_for_the_home() -> None:
    lone, home = node_of("q", journal=RecordingJournal())
    client = confirming(lone)
    client.send(1, QueueDeclare("here", durable=True))
    lone.sync()
    for queue in ("here", "q"):
        client.send(1, QueueBind(queue, "amq.fanout"))
        lone.sync()
    client.received()
    client.publish("", exchange="amq.fanout", properties=PERSISTENT)
    lone.take(home.confirm)
    assert client.methods() == []
    lone.sync()
    assert client.methods() == [BasicAck(1)]


def test_a_publisher_waits_while_too_much_is_on_its_way() -> None:
    lone, home = node_of("q")
    client = confirming(lone)
    home.has_room = False
    client.publish("q", b"1")
    client.publish("q", b"2")
    assert bodies(home) == []
    lone.take(home.make_room)
    lone.complete()
    assert bodies(home) == [b"1", b"2"]


def test_what_is_lost_on_its_way_is_nacked() -> None:
    lone, home = node_of("q")
    client = confirming(lone)
    client.publish("q")
    client.publish("q")
    lone.take(lambda: home.confirm(1))
    lone.take(home.lose)
    assert client.methods() == [BasicAck(1), BasicNack(2)]


def test_a_commit_waits_for_the_home() -> None:
    lone, home = node_of("q")
    client = lone.client()
    client.send(1, TxSelect())
    client.received()
    client.publish("q", b"held")
    assert bodies(home) == []
    client.send(1, TxCommit())
    assert bodies(home) == [b"held"]
    assert client.methods() == []
    lone.take(home.confirm)
    lone.complete()
    assert client.methods() == [TxCommitOk()]


def test_a_commit_of_what_a_home_refuses_fails() -> None:
    lone, home = node_of("q")
    client = lone.client()
    client.send(1, TxSelect())
    client.publish("q", b"held")
    client.send(1, TxCommit())
    client.received()
    lone.take(lambda: home.refuse(1))
    lone.take(home.confirm)
    lone.complete()
    (closed,) = client.methods()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text == "PRECONDITION_FAILED - partial tx completion"


def with_a_letter(lone: LoneBroker) -> LoneClient:
    """A client that has a message of "source", whose dead letters go to amq.fanout, unacked."""
    client = lone.client()
    arguments = {"x-dead-letter-exchange": "amq.fanout"}
    for method in (
        QueueDeclare("source", durable=True, arguments=arguments),
        QueueBind("q", "amq.fanout"),
    ):
        client.send(1, method)
        if isinstance(lone.journal, RecordingJournal):
            lone.sync()
    client.publish("source", b"letter", properties=PERSISTENT)
    client.send(1, BasicGet("source"))
    client.received()
    return client


def test_a_dead_letter_is_in_its_queue_until_the_home_has_it() -> None:
    lone, home = node_of("q")
    client = with_a_letter(lone)
    source = lone.broker.vhosts["/"].queues["source"]
    client.send(1, BasicReject(1, requeue=False))
    assert bodies(home) == [b"letter"]
    assert len(source.index) == 1
    lone.take(home.confirm)
    lone.complete()
    assert len(source.index) == 0


def test_a_dead_letter_goes_to_the_queues_here_when_the_other_nodes_have_it() -> None:
    lone, home = node_of("q")
    client = with_a_letter(lone)
    client.send(1, QueueDeclare("here"), QueueBind("here", "amq.fanout"))
    client.send(1, BasicReject(1, requeue=False))
    here = lone.broker.vhosts["/"].queues["here"]
    assert here.ready == 0
    lone.take(home.confirm)
    lone.complete()
    assert here.ready == 1
    assert len(lone.broker.vhosts["/"].queues["source"].index) == 0


def test_a_dead_letter_that_is_lost_on_its_way_goes_again() -> None:
    lone, home = node_of("q")
    client = with_a_letter(lone)
    client.send(1, BasicReject(1, requeue=False))
    lone.take(home.lose)
    lone.pass_time(1)
    assert bodies(home) == [b"letter"] * 2
    lone.take(lambda: home.refuse(2))
    lone.take(home.confirm)  # that is how it answers while it is down
    home.is_up = True
    lone.pass_time(1)
    assert bodies(home) == [b"letter"] * 3
    lone.take(home.confirm)
    lone.complete()
    assert len(lone.broker.vhosts["/"].queues["source"].index) == 0


def test_a_dead_letter_goes_again_though_its_home_is_back_before_anybody_is_told() -> None:
    lone, home = node_of("q")
    client = with_a_letter(lone)
    client.send(1, BasicReject(1, requeue=False))

    def lost_and_back() -> None:
        home.era += 1
        home.refuse(1)
        home.confirm()

    lone.take(lost_and_back)
    lone.pass_time(1)
    assert bodies(home) == [b"letter"] * 2


def test_a_dead_letter_that_the_home_has_goes_once_though_that_is_told_when_it_is_lost() -> None:
    lone, home = node_of("q")
    client = with_a_letter(lone)
    client.send(1, BasicReject(1, requeue=False))

    def lost_with_the_answer_here() -> None:
        home.era += 1
        home.confirm()

    lone.take(lost_with_the_answer_here)
    lone.pass_time(2)
    assert bodies(home) == [b"letter"]
    assert len(lone.broker.vhosts["/"].queues["source"].index) == 0


def test_a_dead_letter_that_its_queue_has_not_taken_leaves_nothing_there() -> None:
    lone, home = node_of("q")
    client = confirming(lone)
    arguments = {
        "x-max-length": 0,
        "x-overflow": "reject-publish-dlx",
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "q",
    }
    client.send(1, QueueDeclare("full", arguments=arguments))
    client.received()
    client.publish("full", b"refused")
    assert bodies(home) == [b"refused"]
    lone.take(home.confirm)
    full = lone.broker.vhosts["/"].queues["full"]
    assert (len(full.index), full.header_bytes) == (0, 0)
    assert client.methods() == [BasicNack(1)]


def test_a_dead_letter_that_a_full_queue_refuses_is_gone() -> None:
    lone, home = node_of("q")
    client = with_a_letter(lone)
    client.send(1, BasicReject(1, requeue=False))
    lone.take(lambda: home.refuse(1))
    lone.take(home.confirm)
    lone.pass_time(2)
    assert bodies(home) == [b"letter"]
    assert len(lone.broker.vhosts["/"].queues["source"].index) == 0


@pytest.mark.parametrize("others", [(), ("here",), ("here", "there")])
def test_a_dead_letter_whose_queue_is_deleted_meanwhile_goes_on_alone(
    others: tuple[str, ...],
) -> None:
    journal = RecordingJournal()
    lone, home = node_of("q", journal=journal)
    client = with_a_letter(lone)
    for name in others:
        client.send(1, QueueDeclare(name, durable=True))
        lone.sync()
        client.send(1, QueueBind(name, "amq.fanout"))
        lone.sync()
    client.send(1, BasicReject(1, requeue=False))
    source = lone.broker.vhosts["/"].queues["source"]
    client.send(1, QueueDelete("source"))
    lone.sync()
    assert source.deleted
    lone.take(home.confirm)
    queues = lone.broker.vhosts["/"].queues
    assert [queues[name].ready for name in others] == [1] * len(others)
    assert [queue_id for queue_id, _ in journal.live()] == [queues[name].id for name in others]
    assert len(source.index) == 0


def test_queues_that_are_deleted_while_a_dead_letter_is_on_its_way_get_none() -> None:
    lone, home = node_of("q", "p")
    other = ScriptedHome("c")
    lone.broker.vhosts["/"].enter_queue(QueueDefinition(20, "r", False, {}), other)
    client = with_a_letter(lone)
    client.send(1, QueueBind("p", "amq.fanout"), QueueBind("r", "amq.fanout"))
    client.send(1, QueueDeclare("here"), QueueBind("here", "amq.fanout"))
    here = lone.broker.vhosts["/"].queues["here"]
    client.send(1, BasicReject(1, requeue=False))
    assert [it.queue_ids for it in home.published] == [(7, 8)]
    lone.take(home.lose)
    for name in ("p", "r", "here"):
        lone.take(partial(lone.broker.vhosts["/"].delete_queue, name))
    home.is_up = True
    lone.pass_time(1)
    assert [it.queue_ids for it in home.published] == [(7, 8), (7,)]
    lone.take(home.confirm)
    assert other.published == []
    assert here.ready == 0
    assert len(lone.broker.vhosts["/"].queues["source"].index) == 0


def test_a_publish_by_an_exchange_that_looks_at_headers_goes_there_too() -> None:
    lone, home = node_of("q")
    client = confirming(lone)
    client.send(1, ExchangeDeclare("h", "headers"), QueueBind("q", "h", arguments={"a": 1}))
    client.received()
    client.publish("", b"yes", exchange="h", properties=Properties(headers={"a": 1}))
    client.publish("", b"no", exchange="h", properties=Properties(headers={"a": 2}))
    assert bodies(home) == [b"yes"]
    assert client.methods() == []
    lone.take(home.confirm)
    assert client.methods() == [BasicAck(2, multiple=True)]


def test_copies_go_to_other_nodes() -> None:
    lone, home = node_of("q", "p")
    client = lone.client()
    client.publish("q", properties=Properties(headers={"CC": ["p"]}))
    assert [it.queue_ids for it in home.published] == [(7, 8)]


def test_it_is_not_unroutable() -> None:
    lone, home = node_of("q")
    client = lone.client()
    client.publish("q", mandatory=True)
    assert client.methods() == []
    assert len(home.published) == 1
