"""Crash after every operation, in every way that a disk can lose what was not synced.

What must hold each time: the recovered state is exactly the state after some prefix of what was
logged, and that prefix contains everything that the disk had reported synced. So no confirmed
message is lost, no synced ack comes back, and no order is broken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import pytest

from reference_broker.core.content import Content
from reference_broker.core.journal import Entry
from reference_broker.simulation.disk import Crash, SimulatedDisk
from reference_broker.store import Log, Operation, RecoveredLog, open_log
from reference_broker.store.ports import Write

SEGMENT_BYTES = 2048
QUEUES = (11, 12, 13)


class PowerCut(Exception):
    """The machine lost power before an operation."""


class CutDisk(SimulatedDisk):
    """Loses power before the operation after the ``lives``-th."""

    lives = 1 << 60

    def perform(self, operation: Operation) -> None:
        if self.operations >= self.lives:
            raise PowerCut
        super().perform(operation)


@dataclass(frozen=True)
class Message:
    body: bytes
    header: bytes
    route: bytes


@dataclass
class State:
    """What a reference model says is in the log."""

    queues: dict[tuple[int, int], Message] = field(default_factory=dict)
    requeued: frozenset[tuple[int, int]] = frozenset()
    definitions: dict[str, bytes] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.queues), self.requeued, dict(self.definitions))

    def matches(self, recovered: RecoveredLog) -> bool:
        found = {
            (entry.queue_id, entry.sequence): Message(
                entry.content.body, entry.content.header, entry.content.route
            )
            for entries in recovered.entries.values()
            for entry in entries
        }
        return found == self.queues and recovered.definitions == self.definitions


class Workload:
    """Drives a log as the broker core would, and remembers every state with the position at which
    it is promised."""

    def __init__(self, disk: SimulatedDisk, random: Random) -> None:
        self.disk = disk
        self.random = random
        self.state = State()
        self.contents: dict[tuple[int, int], Content] = {}
        self.next_sequence = dict.fromkeys(QUEUES, 1)
        self.history: list[tuple[int, State]] = [(-1, State())]
        self.synced = 0

    def adopt(self, recovered: RecoveredLog) -> None:
        """Go on from what was recovered."""
        self.contents = {}
        self.state = State(definitions=dict(recovered.definitions))
        for entries in recovered.entries.values():
            for entry in entries:
                key = (entry.queue_id, entry.sequence)
                self.contents[key] = entry.content
                self.state.queues[key] = Message(
                    entry.content.body, entry.content.header, entry.content.route
                )
        self.history = [(-1, self.state.copy())]
        self.synced = 0

    def run(self, log: Log, steps: int) -> None:
        actions = [self.publish] * 4 + [self.ack] * 4 + [self.move, self.requeue, self.define]
        for _ in range(steps):
            self.random.choice(actions)(log)
            self.history.append((log.tail, self.state.copy()))
            if self.random.random() < 0.4:
                self.pump(log)
        self.pump(log)
        self.pump(log)

    def pump(self, log: Log) -> None:
        self.synced = log.synced
        batch = log.take_batch()
        if batch is not None:
            for operation in batch.operations:
                self.disk.perform(operation)
            log.batch_synced(batch)
            self.synced = log.synced

    def message(self) -> Content:
        size = self.random.choice((0, 10, 100, 400, 5000))
        return Content(b"\x01e\x01k", b"header", self.random.randbytes(size))

    def entries(self, count: int) -> list[Entry]:
        taken = []
        for queue_id in self.random.sample(QUEUES, count):
            taken.append(Entry(queue_id, self.next_sequence[queue_id]))
            self.next_sequence[queue_id] += 1
        return taken

    def enter(self, entries: list[Entry], content: Content, position: int) -> None:
        stored = Content(content.route, content.header, content.body, position)
        for entry in entries:
            key = (entry.queue_id, entry.sequence)
            self.contents[key] = stored
            self.state.queues[key] = Message(content.body, content.header, content.route)

    def publish(self, log: Log) -> None:
        entries = self.entries(self.random.choice((1, 1, 2)))
        content = self.message()
        self.enter(entries, content, log.publish(entries, content))

    def some(self) -> tuple[int, int] | None:
        return self.random.choice(sorted(self.contents)) if self.contents else None

    def ack(self, log: Log) -> None:
        key = self.some()
        if key is not None:
            log.ack(*key, self.contents.pop(key).position)
            del self.state.queues[key]

    def requeue(self, log: Log) -> None:
        key = self.some()
        if key is not None:
            log.requeue(*key, self.contents[key].position)
            self.state.requeued |= {key}

    def move(self, log: Log) -> None:
        key = self.some()
        if key is None:
            return
        source = self.contents.pop(key)
        del self.state.queues[key]
        entries = self.entries(self.random.choice((1, 2)))
        content = Content(b"\x03dlx\x00", b"dead " + source.header[-20:], source.body)
        self.enter(entries, content, log.move(*key, source.position, entries, content))

    def define(self, log: Log) -> None:
        key = self.random.choice("abc")
        value = self.random.choice((None, b"1", b"2" * 40))
        log.define(key, value)
        self.state.definitions.pop(key, None)
        if value is not None:
            self.state.definitions[key] = value

    def assert_holds(self, recovered: RecoveredLog, note: object) -> None:
        promised = max(i for i, (tail, _) in enumerate(self.history) if tail <= self.synced)
        possible = [state for _, state in self.history[promised:]]
        assert any(state.matches(recovered) for state in possible), note
        assert not recovered.damage.damaged, (note, recovered.damage)
        for entries in recovered.entries.values():
            assert all(entry.redelivered for entry in entries) or recovered.clean, note


def crashes(random: Random, last: Operation | None) -> Iterator[tuple[Crash, int]]:
    yield Crash.DROP, 0
    yield Crash.KEEP, 0
    yield Crash.SUBSET, 0
    if isinstance(last, Write):
        length = sum(map(len, last.pieces))
        for torn_at in {0, 1, length // 2, length - 1, random.randrange(length + 1)}:
            yield Crash.TEAR_LAST, max(torn_at, 0)


def run_until(lives: int, seed: int) -> tuple[CutDisk, Workload, bool]:
    disk = CutDisk(Random(seed))
    disk.lives = lives
    workload = Workload(disk, Random(seed))
    try:
        log, _ = open_log(disk, segment_bytes=SEGMENT_BYTES)
        workload.run(log, steps=90)
    except PowerCut:
        return disk, workload, True
    return disk, workload, False


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_crash_after_any_operation_keeps_every_promise(seed: int) -> None:
    lives = 0
    cut = True
    while cut:
        _, probe, cut = run_until(lives, seed)
        last = probe.disk.performed[-1] if lives else None
        for how, torn_at in crashes(Random(lives), last):
            disk, workload, _ = run_until(lives, seed)
            disk.crash(how, torn_at)
            disk.lives = 1 << 60
            _, recovered = open_log(disk, segment_bytes=SEGMENT_BYTES)
            workload.assert_holds(recovered, (seed, lives, how, torn_at))
        lives += 1
    assert lives > 80  # the workload is large enough to mean something


@pytest.mark.parametrize("seed", range(30))
def test_crash_after_crash_also_in_the_middle_of_recovery(seed: int) -> None:
    random = Random(seed)
    disk = CutDisk(random)
    workload = Workload(disk, random)
    for life in range(12):
        disk.lives = disk.operations + random.choice((2, 5, 10, 30, 60))
        try:
            log, recovered = open_log(disk, segment_bytes=SEGMENT_BYTES)
            workload.assert_holds(recovered, (seed, life))
            workload.adopt(recovered)
            workload.run(log, steps=40)
        except PowerCut:
            pass
        disk.crash(random.choice((Crash.DROP, Crash.KEEP, Crash.SUBSET, Crash.TEAR_LAST)), life)
    disk.lives = 1 << 60
    _, recovered = open_log(disk, segment_bytes=SEGMENT_BYTES)
    workload.assert_holds(recovered, seed)


@pytest.mark.parametrize("seed", range(10))
def test_a_clean_stop_brings_back_exactly_what_was_there(seed: int) -> None:
    disk = SimulatedDisk()
    workload = Workload(disk, Random(seed))
    log, _ = open_log(disk, segment_bytes=SEGMENT_BYTES)
    workload.run(log, steps=80)
    log.close()
    workload.pump(log)
    disk.crash(Crash.DROP)
    _, recovered = open_log(disk, segment_bytes=SEGMENT_BYTES)
    assert recovered.clean
    assert workload.state.matches(recovered)
    redelivered = {
        (entry.queue_id, entry.sequence)
        for entries in recovered.entries.values()
        for entry in entries
        if entry.redelivered
    }
    assert redelivered == workload.state.requeued & workload.state.queues.keys()


@pytest.mark.parametrize("seed", range(5))
def test_when_all_is_settled_only_the_segment_in_use_is_left(seed: int) -> None:
    disk = SimulatedDisk()
    workload = Workload(disk, Random(seed))
    log, _ = open_log(disk, segment_bytes=SEGMENT_BYTES)
    workload.run(log, steps=200)
    while workload.contents:
        workload.ack(log)
    workload.publish(log)  # fills the segment in use, so that another one begins
    for _ in range(40):
        content = Content(b"\x00\x00", b"", bytes(300))
        log.ack(11, 10**6, log.publish([Entry(11, 10**6)], content))
        workload.pump(log)
    for _ in range(10):
        workload.pump(log)
    assert len(disk.list_files()) <= 4, disk.list_files()


@pytest.mark.parametrize("failing", range(1, 60))
def test_after_a_failed_operation_nothing_promised_is_lost_even_if_the_cache_lies(
    failing: int,
) -> None:
    """A sync fails, the process restarts (the cache still shows the data), and later the power
    goes: what the restarted process served and confirmed must be there."""
    disk = SimulatedDisk(Random(failing))
    workload = Workload(disk, Random(7))
    log, _ = open_log(disk, segment_bytes=SEGMENT_BYTES)
    disk.fail_at(failing)
    with pytest.raises(OSError):
        workload.run(log, steps=60)
    _, first = open_log(disk, segment_bytes=SEGMENT_BYTES)
    workload.assert_holds(first, failing)
    workload.adopt(first)
    disk.crash(Crash.DROP)
    _, second = open_log(disk, segment_bytes=SEGMENT_BYTES)
    workload.assert_holds(second, failing)
    assert workload.state.matches(second)
