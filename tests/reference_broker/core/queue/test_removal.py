"""Removal of many messages: logged, paged, in memory only, handed out; and in parts."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.channel.settlement import put_back
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.removal import (
    CONTENTS_AT_ONCE,
    CONTENTS_PER_UNIT,
    purge,
    remove_everything,
    remove_ready,
)
from reference_broker.testing.lone_queue import QueueHost, delete_now, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties())


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    return QueueHost(journal)


def acked(journal: RecordingJournal) -> list[int]:
    return [record[2] for record in journal.records if record[0] == "ack"]


def test_a_purge_is_logged_in_order(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q")
    host.publish(queue, *(b"x" for _ in range(10)), header=PERSISTENT)
    first = queue.index.tail - 10
    assert purge_now(queue) == 10
    assert acked(journal) == list(range(first, first + 10))
    assert (queue.ready, journal.live()) == (0, [])


def test_below_a_sequence_and_run_by_run(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q")
    host.publish(queue, *(b"x" for _ in range(6)), header=PERSISTENT)
    first = queue.index.tail - 6
    queue.index.take_at(first + 2)
    run = queue.index.ready_run(first + 5)
    assert run is not None
    queue.exits.end_ready(queue.index, run)
    for _ in remove_ready(queue, queue.index, first + 5):
        pytest.fail("one turn is enough")
    assert acked(journal) == [first, first + 1, first + 3, first + 4]
    list(remove_ready(queue, queue.index, first + 5))
    assert queue.ready == 1


@pytest.fixture
def tight() -> QueueHost:
    """A host whose turn ends with the first run."""
    return QueueHost(RecordingJournal(), units=1)


def three_with_one_unacked(tight: QueueHost, queue: Queue) -> Lease:
    """Publish three messages, and get the second: the ready ones are two runs."""
    tight.publish(queue, b"1", b"2", b"3", header=PERSISTENT)
    leases = []
    for _ in range(2):
        tight.budget.refill()
        leases.append(queue.get(None))
    assert leases[0] is not None
    assert leases[1] is not None
    tight.budget.refill()
    queue.requeue([leases[0]])
    tight.budget.refill()
    return leases[1]


def rest_of(steps: Generator[object, None, int], tight: QueueHost) -> int:
    """Go on with a purge to its end; returns its count."""
    while True:
        tight.budget.refill()
        try:
            next(steps)
        except StopIteration as stop:
            return int(stop.value)


def test_messages_in_memory_are_freed_in_portions() -> None:
    host = QueueHost(units=1)
    queue = host.declare("q")
    host.publish(queue, *[b"x"] * (3 * CONTENTS_AT_ONCE), header=TRANSIENT)
    steps = remove_ready(queue, queue.index, queue.index.tail)
    for left in (2, 1, 0):
        host.budget.refill()
        next(steps)
        assert len(queue.contents) == left * CONTENTS_AT_ONCE
        assert host.budget.left <= 1 - CONTENTS_AT_ONCE // CONTENTS_PER_UNIT


def test_what_comes_back_during_a_purge_is_not_purged(tight: QueueHost) -> None:
    queue = tight.declare("q")
    lease = three_with_one_unacked(tight, queue)
    purging = purge(queue)
    next(purging)
    coming_back = put_back([lease])
    until = next(coming_back)
    assert until is not None
    told: list[int] = []
    until.then(lambda: told.append(queue.ready))
    assert rest_of(purging, tight) == 2
    assert told == [0]
    tight.budget.refill()
    assert list(coming_back) == []
    assert (queue.ready, queue.unacked, queue.returning) == (1, 0, 0)


def test_a_purge_behind_another_takes_what_has_come_since(tight: QueueHost) -> None:
    queue = tight.declare("q")
    three_with_one_unacked(tight, queue)
    first, second = purge(queue), purge(queue)
    next(first)
    assert next(second) is not None, "it begins when the first has ended"
    tight.publish(queue, b"4", header=PERSISTENT)
    assert rest_of(first, tight) == 2
    assert rest_of(second, tight) == 1


def test_a_return_whose_time_comes_during_a_purge_is_not_purged(tight: QueueHost) -> None:
    queue = tight.declare("q", requeue_position="back", requeue_delay=1_000)
    tight.publish(queue, b"1", b"2", header=PERSISTENT)
    lease = queue.get(None)
    assert lease is not None
    queue.requeue([lease])
    tight.publish(queue, b"3", header=PERSISTENT)
    tight.budget.refill()
    purging = purge(queue)
    next(purging)
    tight.budget.refill()
    tight.advance(1_010)
    assert rest_of(purging, tight) == 2
    assert (queue.ready, queue.unacked) == (1, 0)


def test_returns_whose_time_comes_while_their_queue_goes_go_with_it(tight: QueueHost) -> None:
    queue = tight.declare("q", requeue_position="back", requeue_delay=1_000)
    for _ in range(2):  # the place of the second one is between them, so they are two runs
        tight.publish(queue, b"1", header=PERSISTENT)
        lease = queue.get(None)
        assert lease is not None
        tight.budget.refill()
        queue.requeue([lease])
    tight.budget.refill()
    queue.end()
    removing = remove_everything(queue)
    next(removing)
    tight.budget.refill()
    tight.advance(1_010)
    for _ in removing:
        tight.budget.refill()
    assert isinstance(tight.journal, RecordingJournal)
    assert tight.journal.live() == []


def paged(queue: Queue, journal: RecordingJournal) -> None:
    """Put every message that the log doesn't have on a page."""
    for sequence, position, _ in list(queue.index.ready_from(0)):
        if position < 0:
            queue.index.set_position(sequence, journal.page(queue.contents[sequence]))


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("header", [PERSISTENT, TRANSIENT, None])
def test_logged_paged_and_in_memory(
    host: QueueHost, journal: RecordingJournal, header: bytes | None, pages: bool
) -> None:
    queue = host.declare("q")
    for _ in range(3):
        for each in (PERSISTENT, TRANSIENT) if header is None else (header,):
            host.publish(queue, b"x", b"y", header=each)
    if pages:
        paged(queue, journal)
        assert bool(journal.pages) == (header != PERSISTENT)
    assert purge_now(queue) == (12 if header is None else 6)
    assert (journal.pages, journal.live()) == ({}, [])
    assert (queue.ready, queue.memory_bytes) == (0, 0)


@pytest.mark.parametrize("levels", [False, True])
def test_a_deletion_ends_what_is_handed_out_and_held_back(
    host: QueueHost, journal: RecordingJournal, levels: bool
) -> None:
    arguments: dict[str, Any] = {"requeue_position": "back", "requeue_delay": 1_000}
    if levels:
        arguments["max_priority"] = 3
    queue = host.declare("q", **arguments)
    for priority in (0, 2, 3):
        header = encode_header(1, Properties(delivery_mode=2, priority=priority))
        host.publish(queue, *(b"x" for _ in range(4)), header=header)
    leases = [lease for _ in range(9) if (lease := queue.get(None))]
    queue.requeue(leases[2:4])
    assert len(queue.delayed) == 2
    delete_now(queue)
    assert journal.live() == []
    assert [len(index) for index in queue.indexes()] == [0] * (3 if levels else 1)


def test_a_deletion_leaves_a_dead_letter_that_is_on_its_way(
    host: QueueHost, journal: RecordingJournal
) -> None:
    """Its end is the journal's move, which comes later."""
    queue = host.declare("q", dead_letter_exchange="dlx")
    targets = [host.declare(f"dead {number}") for number in range(3)]
    host.routes[("dlx", "q")] = [target.name for target in targets]
    host.publish(queue, b"1", b"2", b"3", header=PERSISTENT)
    leases = [lease for _ in range(2) if (lease := queue.get(None))]
    host.budget.left = 1  # too little for three queues
    queue.reject(leases[0])
    delete_now(queue)
    assert (queue.id, leases[0].sequence) in journal.live()
    while not host.turn():
        pass
    assert [entry[0] for entry in journal.live()] == [target.id for target in targets]
