"""Length limits: what counts, who is served first, and what is dropped or refused."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.length_limit import EXCESS_BYTES_MAX, EXCESS_MAX
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2))


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    return QueueHost(journal)


def contents(queue: Queue) -> list[bytes]:
    return [bytes(content.body) for content in queue.contents.values()]


def test_drop_head_keeps_the_newest(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q", max_length=2)
    assert host.publish(queue, b"a", b"b", b"c", b"d", header=HEADER)
    assert contents(queue) == [b"c", b"d"]
    assert queue.dropped == 2
    assert len(journal.live()) == 2


def test_bytes_count_bodies_only_and_one_publish_may_drop_many(host: QueueHost) -> None:
    queue = host.declare("q", max_length_bytes=10)
    host.publish(queue, b"aaa", b"bbb", b"cccc", header=HEADER)
    assert queue.ready_bytes == 10
    host.publish(queue, b"ddddd", header=HEADER)
    assert contents(queue) == [b"cccc", b"ddddd"]
    host.publish(queue, b"x" * 11, header=HEADER)
    assert contents(queue) == [], "a message that can't fit drops all, and then itself"


def test_unacked_messages_do_not_count(host: QueueHost) -> None:
    queue = host.declare("q", max_length=1)
    host.publish(queue, b"a", header=HEADER)
    queue.get(None)
    host.publish(queue, b"b", header=HEADER)
    assert (queue.ready, queue.unacked, queue.dropped) == (1, 1, 0)


@pytest.mark.parametrize("overflow", ["drop-head", "reject-publish"])
def test_consumers_are_served_before_anything_is_lost(host: QueueHost, overflow: str) -> None:
    queue = host.declare("q", max_length=2, overflow=overflow)
    consumer = LoneConsumer(credit=5)
    queue.add_consumer(consumer)
    bodies = [b"%d" % number for number in range(7)]
    for body in bodies:
        assert host.publish(queue, body, header=HEADER, settle=False)
    host.settle()
    assert consumer.bodies == bodies[:5]
    assert contents(queue) == bodies[5:]


def test_max_length_zero_delivers_or_drops(host: QueueHost) -> None:
    queue = host.declare("q", max_length=0)
    host.publish(queue, b"a", header=HEADER)
    assert (queue.ready, queue.dropped) == (0, 1)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.publish(queue, b"b", header=HEADER, settle=False)
    assert consumer.bodies == [b"b"]


def test_reject_publish_refuses_the_newest(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q", max_length=2, max_length_bytes=10, overflow="reject-publish")
    assert host.publish(queue, b"a", header=HEADER)
    assert not host.publish(queue, b"x" * 10, header=HEADER), "one byte too many"
    assert host.publish(queue, b"x" * 9, header=HEADER)
    assert not host.publish(queue, b"", header=HEADER), "one message too many"
    assert contents(queue) == [b"a", b"x" * 9]
    assert (queue.refused, queue.dropped, len(journal.records)) == (2, 0, 2)
    assert queue.published == 2


def test_reject_publish_dlx_refuses_and_dead_letters(host: QueueHost) -> None:
    grave = host.declare("grave")
    queue = host.declare("q", max_length=1, overflow="reject-publish-dlx",
                         dead_letter_exchange="", dead_letter_routing_key="grave")  # fmt: skip
    assert host.publish(queue, b"a", header=HEADER)
    assert not host.publish(queue, b"b", header=HEADER)
    assert (contents(queue), contents(grave)) == ([b"a"], [b"b"])


def test_a_requeue_over_the_limit_drops_from_the_head(host: QueueHost) -> None:
    queue = host.declare("q", max_length=1)
    host.publish(queue, b"a", header=HEADER)
    lease = queue.get(None)
    assert lease is not None
    host.publish(queue, b"b", header=HEADER)
    queue.requeue([lease])
    assert (contents(queue), queue.dropped) == ([b"b"], 1)


def test_a_requeue_is_never_refused(host: QueueHost) -> None:
    queue = host.declare("q", max_length=1, overflow="reject-publish")
    host.publish(queue, b"a", header=HEADER)
    lease = queue.get(None)
    assert lease is not None
    host.publish(queue, b"b", header=HEADER)
    queue.requeue([lease])
    assert (queue.ready, queue.dropped) == (2, 0)


def test_a_priority_queue_drops_its_head_too(host: QueueHost) -> None:
    queue = host.declare("q", max_length=2, max_priority=9)
    for priority in (0, 9, 5):
        header = encode_header(1, Properties(priority=priority))
        host.publish(queue, b"%d" % priority, header=header)
    assert contents(queue) == [b"0", b"5"], "as RabbitMQ does: the head has the highest priority"


def test_what_one_message_pushes_out_goes_in_portions() -> None:
    host = QueueHost(units=300)
    queue = host.declare("q", max_length_bytes=200)
    host.publish(queue, *([b"x"] * 200), header=HEADER)
    host.budget.left = 60
    host.publish(queue, b"y" * 200, header=HEADER)
    assert queue.dropped == 60
    assert queue.ready == 141, "nothing more than the turn has time for"
    while not host.turn():
        pass
    assert contents(queue) == [b"y" * 200]
    assert queue.dropped == 200


NOW_OR_NEVER = encode_header(1, Properties(delivery_mode=2, expiration="0"))


@pytest.mark.parametrize("overflow", ["reject-publish", "reject-publish-dlx"])
def test_what_is_over_at_once_makes_room_for_the_next(host: QueueHost, overflow: str) -> None:
    queue = host.declare("q", max_length=1, overflow=overflow)
    for body in (b"a", b"b", b"c"):
        assert host.publish(queue, body, header=NOW_OR_NEVER, settle=False)
    host.settle()
    assert (queue.ready, queue.expired, queue.refused) == (0, 3, 0)


def test_what_is_over_at_once_behind_one_that_stays_makes_no_room(host: QueueHost) -> None:
    queue = host.declare("q", max_length=2, overflow="reject-publish")
    host.publish(queue, b"stays", header=HEADER)
    assert host.publish(queue, b"a", header=NOW_OR_NEVER, settle=False)
    assert not host.publish(queue, b"b", header=NOW_OR_NEVER, settle=False)
    assert queue.refused == 1


def test_drop_head_finds_what_is_over_gone_already(host: QueueHost) -> None:
    queue = host.declare("q", max_length=1)
    for body in (b"a", b"b"):
        host.publish(queue, body, header=NOW_OR_NEVER, settle=False)
    host.settle()
    assert (queue.expired, queue.dropped) == (2, 0)


def test_one_that_finds_no_room_at_all_dies_of_the_limit(host: QueueHost) -> None:
    queue = host.declare("q", max_length=0)
    host.publish(queue, b"a", b"b", header=NOW_OR_NEVER)
    assert (queue.expired, queue.dropped) == (0, 2)


def test_the_head_that_a_limit_leaves_expires_in_its_time(host: QueueHost) -> None:
    """The message that was dropped had the later time, and the deadline was for it."""
    dead = host.declare("dead")
    queue = host.declare("q", max_length=1, dead_letter_exchange="", dead_letter_routing_key="dead")
    for expiration in ("5000", "60"):
        header = encode_header(1, Properties(delivery_mode=2, expiration=expiration))
        host.publish(queue, b"b", header=header)
    assert (queue.ready, dead.ready) == (1, 1)
    host.advance(61)
    assert (queue.ready, dead.ready, queue.expired) == (0, 2, 1)


@pytest.mark.parametrize(
    ("limit", "body", "most"),
    [
        ({"max_length": 5}, b"a", 5 + EXCESS_MAX),
        ({"max_length_bytes": 500}, b"a" * 100, (500 + EXCESS_BYTES_MAX) // 100),
    ],
)
def test_a_publisher_waits_where_dead_letters_are_slower_than_it_is(
    limit: dict[str, Any], body: bytes, most: int
) -> None:
    host = QueueHost(units=1)
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="q2", **limit)
    host.budget.left = 0
    with pytest.raises(NotYet):
        for _ in range(most + 2):
            host.publish(queue, body, header=HEADER, settle=False)
    assert queue.ready == most + 1
