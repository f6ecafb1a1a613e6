"""Acks of many leases at once: the same as one after another, whatever lies between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.message.content import Content
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.settle_run import ack_leases
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

HEADERS = [encode_header(2, Properties(delivery_mode=mode)) for mode in (1, 2)]


class SparingJournal(RecordingJournal):
    """Folds no more than ``at_once`` acks at a time."""

    def __init__(self, at_once: int) -> None:
        super().__init__()
        self.at_once = at_once

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        return super().ack_run(queue_id, sequence, contents[: self.at_once])


def filled(at_once: int, modes: str, **arguments: Any) -> tuple[Queue, LoneConsumer]:
    """A queue with a message for each of ``modes`` (2 is persistent), all of them handed out."""
    host = QueueHost(SparingJournal(at_once))
    queue = host.declare("q", **arguments)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    for number, mode in enumerate(modes):
        host.publish(queue, b"%02d" % number, header=HEADERS[mode == "2"])
    return queue, consumer


def state(queue: Queue) -> tuple[object, ...]:
    journal = queue.env.journal
    assert isinstance(journal, RecordingJournal)
    return (
        *(sorted(queue.leases), queue.acked, queue.header_bytes, queue.stale_settlements),
        *(len(queue.index), queue.index.held_bytes, journal.records),
    )


@pytest.mark.parametrize("at_once", [0, 1, 2, 100])
@pytest.mark.parametrize("modes", ["22222222", "11111111", "22112212", "1"])
@pytest.mark.parametrize(
    "places", [range(8), (0, 1, 2, 4, 5, 7), (7, 6, 5, 0, 1), (2, 2, 3, 3), ()]
)
def test_it_is_the_same_as_one_after_another(
    at_once: int, modes: str, places: Sequence[int]
) -> None:
    seen = []
    for as_run in (True, False):
        queue, consumer = filled(at_once, modes)
        leases = [consumer.leases[place] for place in places if place < len(modes)]
        if as_run:
            ack_leases(queue, leases)
        else:
            for lease in leases:
                queue.ack(lease)
        seen.append(state(queue))
    assert seen[0] == seen[1]


def test_a_stale_lease_in_the_middle_changes_nothing() -> None:
    queue, consumer = filled(100, "2222")
    queue.requeue([consumer.leases[1]])
    ack_leases(queue, consumer.leases[:4])
    assert (queue.acked, queue.stale_settlements, queue.ready) == (3, 1, 1)


def test_messages_of_several_levels_are_acked_each_on_its_own() -> None:
    queue, consumer = filled(100, "2222", max_priority=5)
    ack_leases(queue, consumer.leases)
    assert (queue.acked, queue.unacked, queue.header_bytes) == (4, 0, 0)


class CountedLeases(list[Lease]):
    """Knows how often one of them was looked at, however they are walked."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Lease]:
        for lease in super().__iter__():
            self.looks += 1
            yield lease


def test_what_was_acked_is_not_walked_over_again() -> None:
    """Two consumers share a queue, and one acks all it has: no two of them follow each other."""
    queue, consumer = filled(100, "2" * 400)
    leases = CountedLeases(consumer.leases[::2])
    ack_leases(queue, leases)
    assert queue.acked == len(leases) == 200
    assert leases.looks <= 4 * len(leases)
