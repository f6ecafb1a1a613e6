"""Moves to queues of other nodes."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import BasicConsume, BasicGet, BasicGetOk, QueueDeclare, QueuePurge
from reference_broker.core.base.limits import MIB
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.transfer import Stop
from reference_broker.core.remote.ports import Counts, QueueGone
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.remote.remote_transfer import (
    DURATION_S,
    UNDER_WAY_MESSAGES,
    RemoteTransfer,
    keeps_what_it_has,
)
from reference_broker.errors import ChannelException, ReplyCode
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

EXPIRING = Properties(headers={"n": 1}, expiration="60000", delivery_mode=2)
FULL = {"x-max-length": 5, "x-overflow": "reject-publish"}


class Nodes:
    """``source`` with messages at this node, and ``q`` at another one."""

    def __init__(self, *sizes: int, arguments: dict[str, Any] | None = None) -> None:
        self.journal = RecordingJournal()
        self.lone = LoneBroker(journal=self.journal)
        self.home = ScriptedHome()
        vhost = self.lone.broker.vhosts["/"]
        vhost.enter_queue(QueueDefinition(7, "q", False, arguments or {}), self.home)
        self.client: LoneClient = self.lone.client()
        self.client.send(1, QueueDeclare("source", durable=True))
        self.lone.sync()
        for number, size in enumerate(sizes):
            self.client.publish("source", b"%d" % number + bytes(size - 1), properties=EXPIRING)
        self.lone.sync()
        self.client.received()
        self.source: Queue = vhost.queues["source"]
        found = vhost.queues["q"]
        assert isinstance(found, RemoteQueue)
        self.destination = found

    def begin(self, count: int = 1_000, bytes_max: int = 16 * MIB) -> RemoteTransfer:
        transfer: list[RemoteTransfer] = []

        def begun() -> None:
            it = RemoteTransfer(self.source, self.destination, count, bytes_max)
            transfer.append(it)
            self.lone.broker.work.start(it.steps(), "/")

        self.lone.take(begun)
        self.lone.complete()
        return transfer[0]

    def sent(self) -> list[int]:
        return [int(chr(it.content.body[0])) for it in self.home.published]

    def confirm(self, number: int | None = None) -> None:
        self.lone.take(lambda: self.home.confirm(number))
        self.lone.complete()

    def left(self) -> list[tuple[bytes, bool]]:
        """The messages of the source as a client gets them."""
        found = []
        while self.source.ready:
            self.client.send(1, BasicGet("source"))
            got = self.client.received()[0]
            assert isinstance(got.method, BasicGetOk)
            found.append((got.body[:1], got.method.redelivered))
        return found


def test_a_message_is_in_its_queue_until_the_home_has_it() -> None:
    nodes = Nodes(1, 1, 1)
    transfer = nodes.begin()
    assert nodes.sent() == [0, 1, 2]
    assert {it.queue_ids for it in nodes.home.published} == {(7,)}
    assert (nodes.source.ready, nodes.source.unacked, len(nodes.journal.live())) == (0, 3, 3)
    nodes.confirm(2)
    assert (transfer.moved, nodes.source.unacked, len(nodes.journal.live())) == (2, 1, 1)
    nodes.confirm()
    assert (transfer.moved, transfer.stop) == (3, Stop.EMPTY)
    assert (nodes.source.unacked, len(nodes.source.index), nodes.journal.live()) == (0, 0, [])
    assert nodes.source.header_bytes == 0


def test_it_arrives_as_it_was_published() -> None:
    nodes = Nodes(1)
    (before,) = nodes.source.contents.values()
    nodes.begin()
    content = nodes.home.published[0].content
    assert (content.header, content.body) == (before.header, before.body)
    assert content.route == before.route == b"\x00\x06source"


def test_no_more_than_wanted() -> None:
    nodes = Nodes(1, 1, 1)
    transfer = nodes.begin(2)
    nodes.confirm()
    assert (transfer.moved, transfer.stop, nodes.left()) == (2, Stop.COUNT, [(b"2", False)])


def test_no_more_bytes_than_may_be() -> None:
    nodes = Nodes(1_000, 1_000, 1_000)
    transfer = nodes.begin(bytes_max=1_500)
    nodes.confirm()
    assert (transfer.moved, transfer.stop, nodes.source.ready) == (2, Stop.COUNT, 1)


def test_messages_on_their_way_are_bounded_in_number() -> None:
    nodes = Nodes(*[1] * (UNDER_WAY_MESSAGES + 2))
    transfer = nodes.begin()
    assert len(nodes.home.published) == UNDER_WAY_MESSAGES
    nodes.confirm(1)
    assert len(nodes.home.published) == UNDER_WAY_MESSAGES + 1
    nodes.confirm()
    nodes.confirm()
    assert transfer.moved == UNDER_WAY_MESSAGES + 2


def test_messages_on_their_way_are_bounded_in_bytes() -> None:
    nodes = Nodes(MIB, MIB, 1)
    transfer = nodes.begin()
    assert nodes.sent() == [0]
    nodes.confirm()
    assert nodes.sent() == [0, 1]
    nodes.confirm()
    nodes.confirm()
    assert (transfer.moved, transfer.stop) == (3, Stop.EMPTY)


def test_it_waits_while_too_much_waits_for_the_home() -> None:
    nodes = Nodes(1)
    nodes.home.has_room = False
    nodes.begin()
    assert nodes.sent() == []
    nodes.lone.take(nodes.home.make_room)
    nodes.lone.complete()
    assert nodes.sent() == [0]


def test_what_a_full_queue_refuses_keeps_its_place() -> None:
    nodes = Nodes(1, 1, 1, arguments=FULL)
    transfer = nodes.begin()
    assert nodes.sent() == [0], "a later one must not get in where this one does not"
    nodes.confirm()
    assert nodes.sent() == [0, 1]
    nodes.lone.take(lambda: nodes.home.refuse(2))
    nodes.confirm()
    assert (transfer.moved, transfer.stop, nodes.source.unacked) == (1, Stop.FULL, 0)
    assert nodes.left() == [(b"1", False), (b"2", False)]
    assert nodes.sent() == [0, 1]


def test_all_that_is_lost_with_the_home_is_put_back_in_order() -> None:
    nodes = Nodes(1, 1, 1, 1)
    transfer = nodes.begin(3)
    nodes.confirm(1)
    nodes.lone.take(nodes.home.lose)
    nodes.lone.complete()
    assert (transfer.moved, transfer.stop, nodes.source.unacked) == (1, Stop.DOWN, 0)
    assert nodes.left() == [(b"1", False), (b"2", False), (b"3", False)]


def test_nothing_goes_to_a_home_that_is_back_before_anybody_is_told() -> None:
    nodes = Nodes(1, 1, arguments=FULL)
    transfer = nodes.begin()

    def lost_and_back() -> None:
        nodes.home.lose()
        nodes.home.is_up = True

    nodes.lone.take(lost_and_back)
    nodes.lone.complete()
    assert (nodes.sent(), transfer.moved, transfer.stop) == ([0], 0, Stop.DOWN)


def test_nothing_is_sent_to_a_home_that_is_down() -> None:
    nodes = Nodes(1)
    nodes.home.is_up = False
    transfer = nodes.begin()
    assert (nodes.sent(), transfer.stop, nodes.left()) == ([], Stop.DOWN, [(b"0", False)])


def test_what_is_on_its_way_is_settled_though_nobody_waits_for_it() -> None:
    nodes = Nodes(1, 1, 1, arguments=FULL)
    transfer = nodes.begin()
    transfer.give_up()
    nodes.confirm()
    assert (nodes.sent(), transfer.moved, nodes.source.unacked) == ([0], 1, 0)
    assert nodes.left() == [(b"1", False), (b"2", False)]


def test_it_ends_after_some_time() -> None:
    nodes = Nodes(1, 1, arguments=FULL)
    transfer = nodes.begin()
    nodes.lone.pass_time(DURATION_S)
    nodes.confirm()
    assert (nodes.sent(), transfer.stop) == ([0], Stop.COUNT)


def test_a_deleted_destination_ends_it() -> None:
    nodes = Nodes(1, 1, arguments=FULL)
    transfer = nodes.begin()
    nodes.lone.take(lambda: nodes.lone.broker.vhosts["/"].delete_queue("q"))
    nodes.confirm()
    assert (transfer.moved, transfer.stop) == (0, Stop.GONE)
    assert nodes.left() == [(b"0", False), (b"1", False)]


def test_a_deleted_source_ends_it() -> None:
    nodes = Nodes(1, 1, arguments=FULL)
    transfer = nodes.begin()
    nodes.lone.take(lambda: nodes.lone.broker.vhosts["/"].delete_queue("source"))
    nodes.confirm()
    assert (nodes.sent(), transfer.moved, transfer.stop) == ([0], 1, Stop.GONE)


def test_what_comes_back_is_not_purged_with_what_was_ready() -> None:
    nodes = Nodes(1, 1, arguments=FULL)
    nodes.begin()
    nodes.client.send(1, QueuePurge("source"))
    nodes.lone.take(lambda: nodes.home.refuse(1))
    nodes.confirm()
    nodes.lone.sync()
    nodes.client.received()
    assert nodes.left() == [(b"0", False)]


def test_waiting_consumers_of_the_source_go_first() -> None:
    nodes = Nodes()
    nodes.client.send(1, BasicConsume("source", no_ack=True))
    nodes.client.publish("source", b"0")
    transfer = nodes.begin()
    assert (nodes.sent(), transfer.stop) == ([], Stop.EMPTY)


def test_a_queue_that_drops_gets_what_it_has_room_for() -> None:
    nodes = Nodes(1, 1, 1, arguments={"x-max-length": 5})
    transfer = nodes.begin()
    assert (nodes.home.take_asked(), nodes.sent()) == ([("count", 7)], [])
    nodes.lone.take(lambda: nodes.home.answer(Counts(3, 0, 0, 0)))
    nodes.lone.complete()
    assert nodes.sent() == [0, 1]
    nodes.confirm()
    assert nodes.home.take_asked() == [("count", 7)]
    nodes.lone.take(lambda: nodes.home.answer(Counts(5, 0, 0, 0)))
    nodes.lone.complete()
    assert (transfer.moved, transfer.stop, nodes.left()) == (2, Stop.FULL, [(b"2", False)])


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_home_that_does_not_tell_its_room(is_deleted: bool) -> None:
    nodes = Nodes(1, arguments={"x-max-length": 5})
    transfer = nodes.begin()
    answer = QueueGone("gone") if is_deleted else ChannelException(ReplyCode.NOT_FOUND, "down")
    nodes.lone.take(lambda: nodes.home.answer(answer))
    nodes.lone.complete()
    assert transfer.stop is (Stop.GONE if is_deleted else Stop.DOWN)
    assert nodes.left() == [(b"0", False)]


def test_messages_that_are_on_disk_only_are_read_first() -> None:
    nodes = Nodes(1, 1)
    nodes.source.contents.clear()
    nodes.source.backlog.leave_all_out()
    transfer = nodes.begin()
    assert nodes.sent() == []
    nodes.lone.take(lambda: nodes.source.fetched(nodes.journal.answer().contents))
    nodes.lone.complete()
    nodes.confirm()
    assert (nodes.sent(), transfer.moved) == ([0, 1], 2)


@pytest.mark.parametrize(
    ("arguments", "keeps"),
    [
        ({}, True),
        ({"x-max-length": 5}, True),
        ({"x-max-length-bytes": 5}, False),
        ({"x-max-length-bytes": 5, "x-overflow": "reject-publish"}, True),
        ({"x-max-length-bytes": 5, "x-overflow": "reject-publish-dlx"}, False),
    ],
)
def test_queues_that_keep_what_they_have(arguments: dict[str, Any], keeps: bool) -> None:
    assert keeps_what_it_has(Nodes(arguments=arguments).destination.limits) is keeps
