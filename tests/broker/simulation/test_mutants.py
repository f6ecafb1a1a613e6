"""A simulator that never goes red proves nothing: bugs are planted, and it must find each.

A mutant changes one thing that the broker or the disk does. It is made here and nowhere else: the
code that ships has no switch for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from reference_broker.core.confirms import ConfirmLedger, Promise
from reference_broker.core.consumer import Consumer
from reference_broker.core.content import Content
from reference_broker.core.journal import Entry
from reference_broker.core.lease import Lease
from reference_broker.core.queue import Queue
from reference_broker.simulation.power import PoweredDisk
from reference_broker.simulation.report import WorldFactory, run_seed
from reference_broker.simulation.world import World
from reference_broker.store import Log, Operation
from reference_broker.store.ports import Sync, SyncDirectory

SEEDS = range(10)
DURATION_US = 20_000_000

Plant = Callable[[pytest.MonkeyPatch], WorldFactory]


def small_world(seed: int) -> World:
    return World(seed, duration_us=DURATION_US)


class NoSync(PoweredDisk):
    """fdatasync returns, and nothing happened."""

    def perform(self, operation: Operation) -> None:
        if not isinstance(operation, Sync):
            super().perform(operation)


class NoDirectorySync(PoweredDisk):
    """Files are synced, their names are not."""

    def perform(self, operation: Operation) -> None:
        if not isinstance(operation, SyncDirectory):
            super().perform(operation)


def no_sync(patch: pytest.MonkeyPatch) -> WorldFactory:
    return lambda seed: World(seed, duration_us=DURATION_US, disk=NoSync(Random(seed)))


def no_directory_sync(patch: pytest.MonkeyPatch) -> WorldFactory:
    return lambda seed: World(seed, duration_us=DURATION_US, disk=NoDirectorySync(Random(seed)))


def confirm_before_sync(patch: pytest.MonkeyPatch) -> WorldFactory:
    def promise(self: ConfirmLedger, position: int, promise: Promise) -> None:
        promise.kept()

    patch.setattr(ConfirmLedger, "promise", promise)
    return small_world


def ack_not_logged(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(Log, "ack", lambda self, queue_id, sequence, position: None)
    return small_world


def redelivered_forgotten_by_recovery(patch: pytest.MonkeyPatch) -> WorldFactory:
    restore = Queue.restore

    def as_new(self: Queue, sequence: int, content: Any, redelivered: bool, *rest: int) -> None:
        restore(self, sequence, content, False, *rest)

    patch.setattr(Queue, "restore", as_new)
    return small_world


def requeue_at_the_tail(patch: pytest.MonkeyPatch) -> WorldFactory:
    def at_the_tail(self: Queue, leases: Iterable[Lease]) -> None:
        journal = self.env.journal
        for lease in leases:
            if self.leases.pop(lease.sequence, None) is not lease:
                continue
            content = lease.content
            self.index.settle(lease.sequence)
            sequence = self.index.tail
            if content.position >= 0:
                journal.ack(self.id, lease.sequence, content.position)
                position = journal.publish([Entry(self.id, sequence)], content)
                content = Content(content.route, content.header, content.body, position)
            self.index.restore(sequence, content.position, len(content.body), True)
            self.contents[sequence] = content
        self.env.mark_dirty(self)

    patch.setattr(Queue, "requeue", at_the_tail)
    return small_world


def prefetch_ignored(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(Consumer, "capacity", lambda self: True)
    return small_world


MUTANTS: list[tuple[Plant, str]] = [
    (no_sync, "durability"),
    (no_directory_sync, "durability"),
    (confirm_before_sync, "durability"),
    (ack_not_logged, "acks"),
    (redelivered_forgotten_by_recovery, "redelivered"),
    (requeue_at_the_tail, "order"),
    (prefetch_ignored, "prefetch"),
]


@pytest.mark.parametrize(
    ("plant", "checker"), MUTANTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_planted_bug_is_found_by_its_checker(
    plant: Plant, checker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = plant(monkeypatch)
    failures = []
    for seed in SEEDS:
        result = run_seed(seed, make)
        failures.append(result.failure)
        if result.failure.startswith(checker):
            assert (result.lost > 0) == (checker == "durability")
            return
    pytest.fail(f"{checker} didn't see it: {failures}")


def test_what_is_planted_here_is_the_only_thing_wrong() -> None:
    assert [run_seed(seed, small_world).failure for seed in SEEDS] == [""] * len(SEEDS)
