"""Acks as a range against the same acks one by one: the same octets, books and recovery."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from reference_broker.core.index.index import QueueIndex
from reference_broker.store import Log
from reference_broker.store.rewrite.rewrite import build
from reference_broker.store.start.recovery import recover
from reference_broker.testing.lone_log import opened, pump, sequences

QUEUES = (7, 8)

Drop = Callable[[Log, int, QueueIndex, int], None]


def in_ranges(log: Log, queue_id: int, index: QueueIndex, below: int) -> None:
    while (run := index.ready_run(below)) is not None:
        log.ack_range(queue_id, run.sequences.start, run.positions, run.stored)
        index.drop_ready(len(run.sequences))


def one_by_one(log: Log, queue_id: int, index: QueueIndex, below: int) -> None:
    while (run := index.ready_run(below)) is not None:
        log.ack(queue_id, run.sequences.start, run.positions[0], run.stored[0])
        index.drop_ready(1)


def books(log: Log) -> list[object]:
    return [
        (
            use.base,
            use.state,
            use.live_bytes,
            use.watch_below,
            use.references,
            sorted(use.referenced_by),
        )
        for use in log._liveness
    ]


class Player:
    """Plays the history of a seed; ``drop`` is how many entries are acked at once."""

    def __init__(self, seed: int, drop: Drop) -> None:
        self.random = Random(seed)
        segment_bytes = self.random.choice([2_000, 5_000, 30_000])
        self.log, self.disk, self.queues = opened(segment_bytes)
        self.drop = drop
        self.seen: list[object] = []

    def play(self) -> None:
        random = self.random
        acts: list[Callable[[], None]] = [
            self.publish, self.publish, self.publish, self.ack_some, self.drop_some,
            self.give_back, lambda: void(pump(self.log, self.disk)), self.rewrite,
        ]  # fmt: skip
        for _ in range(60):
            random.choice(acts)()
            self.seen.append((self.log.tail, self.log._limit, books(self.log)))
        pump(self.log, self.disk)

    def publish(self) -> None:
        random = self.random
        for _ in range(random.randrange(1, 40)):
            ids = random.choice([(7,), (7,), (8,), QUEUES])
            self.queues.publish(random.randrange(200), ids)

    def ack_some(self) -> None:
        """Anywhere: what is left has holes."""
        for queue_id, index in self.queues.indexes.items():
            ready = [sequence for sequence, _, _ in index.ready_from(0)]
            for sequence in self.random.sample(ready, min(len(ready), 5)):
                index.take_at(sequence)
                self.queues.ack(queue_id, sequence)

    def give_back(self) -> None:
        for queue_id, index in self.queues.indexes.items():
            if (taken := index.take()) is not None:
                position = index.entry(taken[0]).position
                index.requeue(taken[0])
                self.log.requeue(queue_id, taken[0], position)

    def drop_some(self) -> None:
        for queue_id, index in self.queues.indexes.items():
            below = index.tail - self.random.choice([0, 0, self.random.randrange(50)])
            self.drop(self.log, queue_id, index, below)

    def rewrite(self) -> None:
        pump(self.log, self.disk)
        plan = self.log.begin_rewrite()
        if plan is not None:
            self.drop_some()
            self.log.finish_rewrite(plan, build(plan, self.disk))


def void(_: object) -> None:
    """For a lambda that returns nothing."""


def played(seed: int, drop: Drop) -> Player:
    player = Player(seed, drop)
    player.play()
    return player


@pytest.mark.parametrize("seed", range(60))
def test_the_log_is_octet_for_octet_the_same(seed: int) -> None:
    ranges, singles = played(seed, in_ranges), played(seed, one_by_one)
    assert ranges.seen == singles.seen
    for file in singles.disk.list_files():
        assert ranges.disk.read(file) == singles.disk.read(file)
    assert ranges.disk.list_files() == singles.disk.list_files()
    for queue_id, index in ranges.queues.indexes.items():
        alive = [each for run in index.live_columns(queue_id, 0, 1 << 62) for each in run.sequences]
        assert sequences(ranges.disk, queue_id) == alive
    by_scan = recover(ranges.disk, trust_footers=False)
    by_footers = recover(ranges.disk, trust_footers=True)
    assert by_scan.queues.keys() == by_footers.queues.keys()


def test_a_range_costs_an_ack_for_each_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    log, disk, queues = opened(segment_bytes=100_000)
    for _ in range(1_000):
        queues.publish(1_000)
    pump(log, disk)
    singles: list[int] = []
    ack = log.ack

    def counted(queue_id: int, sequence: int, position: int, stored: int) -> None:
        singles.append(sequence)
        ack(queue_id, sequence, position, stored)

    monkeypatch.setattr(log, "ack", counted)
    in_ranges(log, 7, queues.indexes[7], queues.indexes[7].tail)
    assert len(singles) == sum(1 for _ in log._liveness)
    assert len(queues.indexes[7]) == 0
