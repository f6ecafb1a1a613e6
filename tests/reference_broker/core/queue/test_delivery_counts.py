"""Delivery counts: which returns count, which is one too many, and what a restart keeps."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.message.header import headers_of
from reference_broker.core.queue.delivery_counts import (
    COUNT_BYTES,
    SWEEP_ABOVE,
    Counts,
    DeliveryCounts,
    restore_counts,
    shown_content,
)
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.errors import Corrupt
from reference_broker.testing.lone_queue import QueueHost, delete_now, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2, message_id="m", headers={"a": 1}))


@pytest.fixture
def host() -> QueueHost:
    return QueueHost()


def quorum(host: QueueHost, **arguments: Any) -> Queue:
    return host.declare("q", queue_type="quorum", **arguments)


def counting(queue: Queue) -> DeliveryCounts:
    assert queue.delivery_counts is not None
    return queue.delivery_counts


def got(queue: Queue) -> Lease:
    lease = queue.get(None)
    assert lease is not None
    return lease


def definitions(host: QueueHost) -> dict[str, bytes]:
    assert isinstance(host.journal, RecordingJournal)
    kept: dict[str, bytes] = {}
    for record in host.journal.records:
        if record[0] == "define":
            _, key, value = record
            if value is None:
                del kept[key]
            else:
                kept[key] = value
    return kept


def test_each_return_is_counted_and_shown_from_the_second_delivery_on(host: QueueHost) -> None:
    queue = quorum(host)
    host.publish(queue, b"x", header=HEADER)
    first = got(queue)
    assert shown_content(first) is first.content
    queue.requeue([first])
    second = got(queue)
    queue.requeue([second], failed=False)
    third = got(queue)
    assert [headers_of(shown_content(lease).header) for lease in (first, third)] == [
        {"a": 1},
        {"a": 1, "x-delivery-count": 1, "x-acquired-count": 2},
    ]
    assert third.content.header == HEADER, "the queue keeps what was published"
    assert len(shown_content(third).body) == 1


def test_a_classic_queue_counts_nothing(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"x", header=HEADER)
    queue.requeue([got(queue)])
    again = got(queue)
    assert shown_content(again) is again.content
    assert queue.delivery_counts is None


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_one_failure_too_many_is_the_end(host: QueueHost, limit: int) -> None:
    queue = quorum(
        host, delivery_limit=limit, dead_letter_exchange="", dead_letter_routing_key="dead"
    )
    dead = host.declare("dead")
    host.publish(queue, b"x", header=HEADER)
    for _ in range(limit + 1):
        assert dead.ready == 0
        queue.requeue([got(queue)])
    assert (queue.ready, queue.unacked, dead.ready) == (0, 0, 1)
    headers = headers_of(got(dead).content.header)
    assert headers["x-first-death-reason"] == "delivery_limit"
    assert "x-delivery-count" not in headers


def test_without_a_dead_letter_exchange_it_is_dropped(host: QueueHost) -> None:
    queue = quorum(host, delivery_limit=0)
    host.publish(queue, b"x", header=HEADER)
    queue.requeue([got(queue)])
    assert (queue.ready, queue.unacked) == (0, 0)
    assert isinstance(host.journal, RecordingJournal)
    assert host.journal.live() == []


def test_the_default_is_twenty_and_what_did_not_fail_does_not_count(host: QueueHost) -> None:
    queue = quorum(host)
    host.publish(queue, b"x", header=HEADER)
    for _ in range(50):
        queue.requeue([got(queue)], failed=False)
    for _ in range(20):
        queue.requeue([got(queue)])
    assert queue.ready == 1
    queue.requeue([got(queue)])
    assert queue.ready == 0


def test_a_negative_limit_is_none(host: QueueHost) -> None:
    queue = quorum(host, delivery_limit=-1)
    host.publish(queue, b"x", header=HEADER)
    for _ in range(100):
        queue.requeue([got(queue)])
    assert queue.ready == 1


def test_a_restart_keeps_them(host: QueueHost) -> None:
    queue = quorum(host)
    host.publish(queue, b"a", b"b", header=HEADER)
    first, _ = got(queue), got(queue)
    queue.requeue([first])
    kept = definitions(host)
    again = QueueHost()
    restored = quorum(again)
    restore_counts(kept, "/", {queue.id: restored}, again.journal)
    assert counting(restored).of(first.sequence) == Counts(1, 1)
    assert len(counting(restored)) == 1
    assert definitions(again) == {}


def test_those_of_a_queue_that_is_gone_are_forgotten(host: QueueHost) -> None:
    queue = quorum(host)
    host.publish(queue, b"x", header=HEADER)
    queue.requeue([got(queue)])
    kept = definitions(host)
    (key,) = kept
    restore_counts(kept, "other", {}, host.journal)
    assert definitions(host) == kept
    restore_counts(kept, "/", {}, host.journal)
    assert definitions(host) == {}
    assert isinstance(host.journal, RecordingJournal)
    assert host.journal.records[-1] == ("define", key, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("count/%2F/1/x", b"\x01" + bytes(8)),
        ("count/%2F/1", b"\x01" + bytes(8)),
        ("count/%2F/1/5", b"\x01"),
        ("count/%2F/1/5", b"\x02" + bytes(8)),
        ("counts/%2F/1/x", b"\x01" + bytes(9)),
        ("counts/%2F/1/5", b"\x01" + bytes(8)),
        ("counts/%2F/1/5", b"\x02" + bytes(9)),
        ("counts/%2F/1/5", b""),
    ],
)
def test_what_can_not_be_read_is_said(host: QueueHost, key: str, value: bytes) -> None:
    with pytest.raises(Corrupt, match="delivery count"):
        restore_counts({key: value}, "/", {1: quorum(host)}, host.journal)


def test_counts_of_messages_that_are_gone_are_swept(host: QueueHost) -> None:
    queue = quorum(host)
    counts = counting(queue)
    for _ in range(20 * SWEEP_ABOVE):
        host.publish(queue, b"x", header=HEADER)
        queue.requeue([got(queue)])
        queue.ack(got(queue))
        assert len(counts) <= SWEEP_ABOVE + 2, "twice what the last sweep left"
    host.publish(queue, *[b"x"] * 100, header=HEADER)
    queue.requeue([got(queue) for _ in range(100)])
    assert all(counts.of(got(queue).sequence) == Counts(1, 1) for _ in range(100))
    assert len(definitions(host)) <= 100 // 64 + 2


def test_what_comes_back_together_is_defined_together(host: QueueHost) -> None:
    queue = quorum(host)
    host.publish(queue, *[b"x"] * 1_000, header=HEADER)
    leases = [got(queue) for _ in range(1_000)]
    assert isinstance(host.journal, RecordingJournal)
    start = len(host.journal.records)
    queue.requeue(leases)
    written = [record for record in host.journal.records[start:] if record[0] == "define"]
    assert len(written) <= 1_000 // 64 + 2
    assert {len(value) for _, _, value in written[1:-1]} == {1 + 64 * 9}


@pytest.mark.parametrize("end", ["purged", "acked"])
def test_a_queue_without_messages_has_none(host: QueueHost, end: str) -> None:
    queue = quorum(host)
    host.publish(queue, *[b"x"] * 10, header=HEADER)
    held = got(queue)
    queue.requeue([got(queue) for _ in range(9)])
    assert len(counting(queue)) == 9
    if end == "purged":
        purge_now(queue)
        assert (queue.unacked, len(counting(queue))) == (1, 0)
    else:
        for lease in (held, *[got(queue) for _ in range(9)]):
            queue.ack(lease)
        host.mark_dirty(queue)
        host.settle()
    assert definitions(host) == {}


def test_the_counts_of_an_earlier_version_are_taken_over(host: QueueHost) -> None:
    queue = quorum(host)
    host.publish(queue, b"a", b"b", header=HEADER)
    first, second = got(queue), got(queue)
    single = {
        f"count/%2F/{queue.id}/{lease.sequence}": struct.pack(">BII", 1, 3, lease.sequence & 7)
        for lease in (first, second)
    }
    for key, value in single.items():
        host.journal.define(key, value)
    restore_counts(single, "/", {queue.id: queue}, host.journal)
    counts = counting(queue)
    counts.sweep()
    counts.write()
    assert [counts.of(lease.sequence).failed for lease in (first, second)] == [3, 3]
    kept = definitions(host)
    assert {key.partition("/")[0] for key in kept} == {"counts"}
    again = QueueHost()
    restored = quorum(again)
    restore_counts(kept, "/", {queue.id: restored}, again.journal)
    for lease in (first, second):
        assert counting(restored).of(lease.sequence) == counts.of(lease.sequence)


def test_a_deleted_queue_leaves_none(host: QueueHost) -> None:
    queue = quorum(host)
    host.publish(queue, b"a", b"b", header=HEADER)
    queue.requeue([got(queue), got(queue)])
    assert queue.memory_bytes > 2 * COUNT_BYTES
    delete_now(queue)
    assert definitions(host) == {}
    assert queue.memory_bytes == 0
