"""Crash after every operation, in every way that a disk can lose what was not synced: while
messages come and go, segments are rewritten, and large messages are cut into chunks.

What must hold each time: the recovered state is exactly the state after some prefix of what was
logged, and that prefix contains everything that the disk had reported synced. So no confirmed
message is lost, no synced ack comes back, and no order is broken.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random

import pytest

from reference_broker.core.index.index import EntryState, QueueIndex
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.simulation.disk.chunks import small_chunks
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import Crash
from reference_broker.store import Log, Operation, RecoveredLog, open_log
from reference_broker.store.disk.ports import RenameFile, Write
from reference_broker.store.format import record
from reference_broker.store.log.reading import perform, take_reads
from reference_broker.store.rewrite.rewrite import build
from reference_broker.store.start.recovery import recover

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


class WatchedDisk(SimulatedDisk):
    """Calls ``watch`` before each operation."""

    watch: Callable[[], None] | None = None

    def perform(self, operation: Operation) -> None:
        if self.watch is not None:
            self.watch()
        super().perform(operation)

    def double(self) -> SimulatedDisk:
        """The same disk, which nobody watches, without the list of what was done to it."""
        double = deepcopy(self, {id(self.performed): []})
        double.watch = None
        return double


@dataclass(frozen=True)
class Message:
    body: bytes
    header: bytes
    route: bytes


@dataclass
class State:
    """The expected content of the log, by a reference model."""

    queues: dict[tuple[int, int], Message] = field(default_factory=dict)
    requeued: frozenset[tuple[int, int]] = frozenset()
    definitions: dict[str, bytes] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.queues), self.requeued, dict(self.definitions))


def messages_of(
    disk: SimulatedDisk, log: Log, recovered: RecoveredLog
) -> dict[tuple[int, int], Message]:
    """The messages of the recovered queues, read back from the disk."""
    found = {}
    for queue_id in recovered.queues:
        for columns in recovered.live_entries(queue_id, 0, 1 << 62):
            log.fetch(queue_id, array("Q", columns.sequences), columns.positions)
    for job in take_reads(log):
        fetched, unreadable = perform(disk, job)
        assert not unreadable
        for sequence, content in fetched.contents:
            assert content is not None
            found[fetched.queue_id, sequence] = Message(
                bytes(content.body), content.header, content.route
            )
    return found


def picture(recovered: RecoveredLog) -> object:
    """Everything about a recovered state that has to be the same, however it was recovered."""
    entries = [
        (queue_id, *map(list, columns[1:5]), columns.states, columns.expiries)
        for queue_id in recovered.queues
        for columns in recovered.live_entries(queue_id, 0, 1 << 62)
    ]
    books = [
        (use.name, use.end, use.live_bytes, use.references, use.defines)
        for use in recovered.liveness
    ]
    return (
        entries, books, recovered.definitions, recovered.tail, recovered.clean,
        recovered.damage, recovered.redelivered_below,
    )  # fmt: skip


class Workload:
    """Drives a log as the broker core would, and remembers every state with the position at which
    it is promised. An index is changed after the log was told: the other way round, a footer may
    know an ack already that no record has yet."""

    def __init__(self, disk: SimulatedDisk, random: Random) -> None:
        self.disk = disk
        self.random = random
        self.state = State()
        self.indexes: dict[int, QueueIndex] = {each: QueueIndex(1) for each in QUEUES}
        self.history: list[tuple[int, State]] = [(-1, State())]
        self.synced = 0
        self.rewritten = 0

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        yield from self.indexes[queue_id].live_columns(queue_id, start, end)

    def adopt(self, log: Log, recovered: RecoveredLog) -> None:
        """Go on from what was recovered."""
        found = messages_of(self.disk, log, recovered)
        self.state = State(found, definitions=dict(recovered.definitions))
        for queue_id in QUEUES:
            tail = self.indexes[queue_id].tail
            index = recovered.queues.get(queue_id, {}).get(0, QueueIndex())
            index.begin_at(tail)
            self.indexes[queue_id] = index
        self.history = [(-1, self.state.copy())]
        self.synced = 0
        log.attach(self)

    def run(self, log: Log, steps: int) -> None:
        actions = [self.publish] * 4 + [self.ack] * 4 + [self.move, self.requeue, self.define]
        actions += [self.publish_run, self.ack_run, self.ack_run]
        for _ in range(steps):
            self.random.choice(actions)(log)
            self.history.append((log.tail, self.state.copy()))
            if self.random.random() < 0.4:
                self.pump(log)
                self.rewrite(log)
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

    def rewrite(self, log: Log) -> None:
        plan = log.begin_rewrite()
        if plan is None:
            return
        if self.random.random() < 0.2:
            log.abandon_rewrite(plan)
        else:
            result = build(plan, self.disk)
            if self.random.random() < 0.5:
                self.ack(log)  # after the plan, before the copy has its name
                self.history.append((log.tail, self.state.copy()))
            log.finish_rewrite(plan, result)
            self.rewritten += 1

    def message(self) -> Content:
        size = self.random.choice((0, 10, 100, 400, 600, 5000))
        return Content(b"\x01e\x01k", b"header", self.random.randbytes(size))

    def entries(self, count: int) -> list[Entry]:
        return [
            Entry(queue_id, self.indexes[queue_id].tail)
            for queue_id in self.random.sample(QUEUES, count)
        ]

    def enter(self, entries: list[Entry], content: Content) -> None:
        for entry in entries:
            index = self.indexes[entry.queue_id]
            index.append(content.position, len(content.body), content.stored)
            self.state.queues[entry[:2]] = Message(
                bytes(content.body), content.header, content.route
            )

    def publish(self, log: Log) -> None:
        entries = self.entries(self.random.choice((1, 1, 2)))
        content = self.message()
        log.publish(entries, content)
        self.enter(entries, content)

    def publish_run(self, log: Log) -> None:
        """A crash may leave any number of its messages, from the first one on."""
        queue_id = self.random.choice(QUEUES)
        contents = [self.message() for _ in range(self.random.randint(2, 6))]
        first = Entry(queue_id, self.indexes[queue_id].tail)
        count = log.publish_run(first, contents)
        for number, content in enumerate(contents):
            entries = [first._replace(sequence=first.sequence + number)]
            if number >= count:
                log.publish(entries, content)
            self.enter(entries, content)
            self.history.append((content.position + content.stored, self.state.copy()))

    def take(self) -> tuple[int, int] | None:
        """Hand out the first message of some queue, or another one than the first."""
        full = [each for each in QUEUES if self.indexes[each].ready]
        if not full:
            return None
        queue_id = self.random.choice(full)
        index = self.indexes[queue_id]
        taken = [index.take() for _ in range(self.random.randint(1, min(3, index.ready)))]
        sequences = [each[0] for each in taken if each is not None]
        chosen = self.random.choice(sequences)
        for each in taken:
            assert each is not None
            if each[0] != chosen:
                index.put_back(*each)
        return queue_id, chosen

    def ack(self, log: Log) -> None:
        key = self.take()
        if key is not None:
            index = self.indexes[key[0]]
            entry = index.entry(key[1])
            log.ack(*key, entry.position, entry.stored)
            index.settle(key[1])
            del self.state.queues[key]

    def ack_run(self, log: Log) -> None:
        """Some of the first messages of a queue, as far as the log folds them."""
        key = self.take()
        if key is None:
            return
        queue_id, first = key
        index = self.indexes[queue_id]
        entry = index.entry(first)
        log.ack(*key, entry.position, entry.stored)
        index.settle(first)
        following: list[tuple[int, bool]] = []
        while (taken := index.take()) is not None:
            if taken[0] != first + 1 + len(following) or len(following) == 5:
                index.put_back(*taken)
                break
            following.append(taken)
        rows = [index.entry(sequence) for sequence, _ in following]
        contents = [Content(b"", b"", b"", row.position, row.stored) for row in rows]
        count = log.ack_run(queue_id, first + 1, contents) if contents else 0
        index.settle_run(first + 1, count)
        for taken in following[count:]:
            index.put_back(*taken)
        for sequence in range(first, first + 1 + count):
            del self.state.queues[queue_id, sequence]

    def requeue(self, log: Log) -> None:
        key = self.take()
        if key is not None:
            index = self.indexes[key[0]]
            log.requeue(*key, index.entry(key[1]).position)
            index.requeue(key[1])
            self.state.requeued |= {key}

    def move(self, log: Log) -> None:
        key = self.take()
        if key is None:
            return
        index = self.indexes[key[0]]
        source = index.entry(key[1])
        message = self.state.queues.pop(key)
        entries = self.entries(self.random.choice((1, 2)))
        content = Content(b"\x03dlx\x00", b"dead " + message.header[-20:], message.body)
        log.move(*key, source.position, source.stored, entries, content)
        index.settle(key[1])
        self.enter(entries, content)

    def define(self, log: Log) -> None:
        key = self.random.choice("abc")
        value = self.random.choice((None, b"1", b"2" * 40))
        log.define(key, value)
        self.state.definitions.pop(key, None)
        if value is not None:
            self.state.definitions[key] = value

    def assert_holds(self, log: Log, recovered: RecoveredLog, note: object) -> None:
        promised = max(i for i, (tail, _) in enumerate(self.history) if tail <= self.synced)
        found = State(messages_of(self.disk, log, recovered), definitions=recovered.definitions)
        possible = (state for _, state in self.history[promised:])
        assert any(
            (state.queues, state.definitions) == (found.queues, found.definitions)
            for state in possible
        ), note
        assert not recovered.damage.damaged, (note, recovered.damage)
        for queue_id in recovered.queues:
            for columns in recovered.live_entries(queue_id, 0, 1 << 62):
                states = set(columns.states)
                assert recovered.clean or states == {EntryState.REDELIVERED}, note


def reopen(disk: SimulatedDisk) -> tuple[Log, RecoveredLog]:
    """Open a log; by footers and by records it must be the same, before and after."""
    assert picture(recover(disk)) == picture(recover(disk, trust_footers=False))
    log, recovered = open_log(disk, segment_bytes=SEGMENT_BYTES)
    assert not recovered.damage.damaged
    assert picture(recover(disk)) == picture(recover(disk, trust_footers=False))
    return log, recovered


def crashes(random: Random, last: Operation | None) -> Iterator[tuple[Crash, int]]:
    yield Crash.DROP, 0
    yield Crash.KEEP, 0
    yield Crash.SUBSET, 0
    if isinstance(last, Write):
        length = sum(map(len, last.pieces))
        for torn_at in {0, 1, length // 2, length - 1, random.randrange(length + 1)}:
            yield Crash.TEAR_LAST, max(torn_at, 0)


def run_with(workload: Workload) -> None:
    log, _ = open_log(workload.disk, segment_bytes=SEGMENT_BYTES)
    log.attach(workload)
    workload.run(log, steps=70)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_crash_after_any_operation_keeps_every_promise(seed: int) -> None:
    """Each crash is of a copy: the run goes on with its disk as if nothing had been."""
    disk = WatchedDisk(Random(seed))
    workload = Workload(disk, Random(seed))
    moments = 0

    def crash_in_every_way() -> None:
        nonlocal moments
        last = disk.performed[-1] if moments else None
        for how, torn_at in crashes(Random(moments), last):
            workload.disk = disk.double()
            workload.disk.crash(how, torn_at)
            log, recovered = open_log(workload.disk, segment_bytes=SEGMENT_BYTES)
            workload.assert_holds(log, recovered, (seed, moments, how, torn_at))
        workload.disk = disk
        moments += 1

    disk.watch = crash_in_every_way
    run_with(workload)
    crash_in_every_way()
    assert moments == disk.operations + 1
    assert moments > 80  # the workload is large enough to mean something
    assert workload.rewritten


@pytest.mark.parametrize("seed", range(30))
def test_crash_after_crash_also_in_the_middle_of_recovery(seed: int) -> None:
    random = Random(seed)
    disk = CutDisk(random)
    workload = Workload(disk, random)
    for life in range(12):
        disk.lives = disk.operations + random.choice((2, 5, 10, 30, 60, 90))
        try:
            log, recovered = reopen(disk)
            workload.assert_holds(log, recovered, (seed, life))
            workload.adopt(log, recovered)
            workload.run(log, steps=60)
        except PowerCut:
            pass
        disk.crash(random.choice((Crash.DROP, Crash.KEEP, Crash.SUBSET, Crash.TEAR_LAST)), life)
    disk.lives = 1 << 60
    log, recovered = reopen(disk)
    workload.assert_holds(log, recovered, seed)


@pytest.mark.parametrize("seed", range(10))
def test_a_clean_stop_brings_back_exactly_what_was_there(seed: int) -> None:
    disk = SimulatedDisk()
    workload = Workload(disk, Random(seed))
    log, recovered = reopen(disk)
    workload.adopt(log, recovered)
    workload.run(log, steps=150)
    log.close()
    workload.pump(log)
    disk.crash(Crash.DROP)
    log, recovered = reopen(disk)
    assert recovered.clean
    assert messages_of(disk, log, recovered) == workload.state.queues
    assert recovered.definitions == workload.state.definitions
    redelivered = {
        (queue_id, sequence)
        for queue_id in recovered.queues
        for columns in recovered.live_entries(queue_id, 0, 1 << 62)
        for sequence, state in zip(columns.sequences, columns.states, strict=True)
        if state == EntryState.REDELIVERED
    }
    assert redelivered == workload.state.requeued & workload.state.queues.keys()


@pytest.mark.parametrize("seed", range(5))
def test_large_messages_survive_crashes_in_chunks(seed: int) -> None:
    with small_chunks(150):
        assert record.chunks_of(400) == 3
        test_crash_after_crash_also_in_the_middle_of_recovery(seed + 100)


@pytest.mark.parametrize("seed", range(5))
def test_when_all_is_settled_only_the_segment_in_use_is_left(seed: int) -> None:
    disk = SimulatedDisk()
    workload = Workload(disk, Random(seed))
    log, recovered = reopen(disk)
    workload.adopt(log, recovered)
    workload.run(log, steps=200)
    while workload.state.queues:
        workload.ack(log)
    for _ in range(60):
        workload.publish(log)
        while workload.state.queues:
            workload.ack(log)
        workload.pump(log)
        workload.rewrite(log)
    for _ in range(10):
        workload.pump(log)
        workload.rewrite(log)
    assert len([file for file in disk.list_files() if file != "spare"]) <= 3, disk.list_files()


@pytest.mark.parametrize("failing", range(1, 60))
def test_after_a_failed_operation_nothing_promised_is_lost_even_if_the_cache_lies(
    failing: int,
) -> None:
    """A sync fails, the process restarts (the cache still shows the data), and later the power
    goes: what the restarted process served and confirmed must be there."""
    disk = SimulatedDisk(Random(failing))
    workload = Workload(disk, Random(7))
    log, recovered = reopen(disk)
    workload.adopt(log, recovered)
    disk.fail_at(failing)
    with pytest.raises(Exception, match="simulated failure"):
        workload.run(log, steps=60)
    log, first = reopen(disk)
    workload.assert_holds(log, first, failing)
    workload.adopt(log, first)
    disk.crash(Crash.DROP)
    log, second = reopen(disk)
    workload.assert_holds(log, second, failing)
    assert messages_of(disk, log, second) == workload.state.queues


def test_a_rewriting_takes_part_in_all_this() -> None:
    disk = SimulatedDisk(Random(0))
    workload = Workload(disk, Random(0))
    run_with(workload)
    assert workload.rewritten > 3
    renamed = [each.new for each in disk.performed if isinstance(each, RenameFile)]
    assert any("-00000001.segment" in file for file in renamed)
