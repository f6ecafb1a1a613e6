"""A simulator that never goes red proves nothing: bugs are planted, and it must find each. They are
made here and nowhere else: the code that ships has no switch for them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from reference_broker.core.channel.confirms import ConfirmLedger, Promise
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.dead_letter import dead_letters, x_death
from reference_broker.core.index.index import EntryState, QueueIndex
from reference_broker.core.index.priority import PriorityLevels
from reference_broker.core.journal.journal import Entry, EntryColumns, EntrySource
from reference_broker.core.message.content import Content
from reference_broker.core.queue import expiry
from reference_broker.core.queue.backlog import Backlog
from reference_broker.core.queue.death import Death
from reference_broker.core.queue.expiry import MessageExpiry
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.length_limit import LengthLimit
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.machine import disk_pump, faults, rewrite_pump
from reference_broker.simulation.machine.backlog_pump import BacklogPump
from reference_broker.simulation.machine.faults import Fault
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.report import WorldFactory, run_seed
from reference_broker.simulation.world import World
from reference_broker.store import Log, Operation
from reference_broker.store.disk.ports import DeleteFile, Sync, SyncDirectory
from reference_broker.store.format import footer
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.footer import Ranges
from reference_broker.store.format.foreign_ranges import EntryRanges, ForeignRanges
from reference_broker.store.format.scan import Found, Gap, SegmentScan
from reference_broker.store.liveness.batch import removal
from reference_broker.store.liveness.liveness import Liveness, SegmentState, SegmentUse
from reference_broker.store.liveness.rewrite_plan import RewritePlan, Source
from reference_broker.store.log import deletions, foreign_ranges_by_segment, open_segment, reading
from reference_broker.store.log.pages import PageBatch, Pages
from reference_broker.store.rewrite import copying
from reference_broker.store.rewrite.copying import SegmentCopy
from reference_broker.store.rewrite.rewriting import Rewriting
from reference_broker.store.start import opening, recovery

SEEDS = range(150)
DURATION_US = 20_000_000

Plant = Callable[[pytest.MonkeyPatch], WorldFactory]


def small_world(seed: int) -> World:
    return World(draw(seed, DURATION_US))


# The disk


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
    return lambda seed: World(draw(seed, DURATION_US), NoSync(Random(seed)))


def no_directory_sync(patch: pytest.MonkeyPatch) -> WorldFactory:
    return lambda seed: World(draw(seed, DURATION_US), NoDirectorySync(Random(seed)))


# The log


def confirm_before_sync(patch: pytest.MonkeyPatch) -> WorldFactory:
    def promise(self: ConfirmLedger, position: int, promise: Promise) -> None:
        promise.kept()

    patch.setattr(ConfirmLedger, "promise", promise)
    return small_world


def cut_at_corruption(patch: pytest.MonkeyPatch) -> WorldFactory:
    """What can't be read is taken for the end, as if it were the unsynced tail."""
    walk = SegmentScan.__iter__

    def until_the_first_gap(self: SegmentScan) -> Iterator[Found | Gap]:
        for item in walk(self):
            yield item
            if isinstance(item, Gap):
                return

    patch.setattr(SegmentScan, "__iter__", until_the_first_gap)
    # The footers would do without most of the records.
    patch.setattr(opening, "recover", partial(recovery.recover, trust_footers=False))
    return lambda seed: World(_rotten(seed))


def _rotten(seed: int) -> Scenario:
    return replace(draw(seed, DURATION_US), bit_rot=True)


def ack_not_logged(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(Log, "ack", lambda self, queue_id, sequence, position, stored: None)
    return small_world


def ack_of_a_sealed_segment_not_logged(patch: pytest.MonkeyPatch) -> WorldFactory:
    """Later acks are ignored: those of messages that are not in the segment in use."""
    ack = Log.ack

    def only_of_this_segment(self: Log, queue_id: int, sequence: int, at: int, size: int) -> None:
        if at >= self._segment.base:
            ack(self, queue_id, sequence, at, size)

    patch.setattr(Log, "ack", only_of_this_segment)
    return small_world


def segment_with_live_acks_deleted(patch: pytest.MonkeyPatch) -> WorldFactory:
    def is_dead(self: Liveness, use: SegmentUse) -> bool:
        return use.state is SegmentState.SEALED and not use.live_bytes and not use.defines

    patch.setattr(Liveness, "_is_dead", is_dead)
    return small_world


def segment_with_live_messages_deleted(patch: pytest.MonkeyPatch) -> WorldFactory:
    def is_dead(self: Liveness, use: SegmentUse) -> bool:
        idle = use.state is SegmentState.SEALED and not use.references and not use.defines
        return idle and use.live_bytes < 1_500

    patch.setattr(Liveness, "_is_dead", is_dead)
    return small_world


def expiry_not_stored(patch: pytest.MonkeyPatch) -> WorldFactory:
    publish = Log.publish

    def without_expiry(self: Log, entries: Iterable[Entry], content: Content) -> None:
        publish(self, [entry._replace(expires_at_ms=0) for entry in entries], content)

    patch.setattr(Log, "publish", without_expiry)
    return small_world


def moved_without_leaving(patch: pytest.MonkeyPatch) -> WorldFactory:
    """A dead letter is logged as a publish: its source is still there after a start."""

    def move(
        self: Log,
        queue_id: int,
        sequence: int,
        position: int,
        stored: int,
        entries: Iterable[Entry],
        content: Content,
    ) -> None:
        self.publish(list(entries), content)

    patch.setattr(Log, "move", move)
    return small_world


# Footers, rewriting, reading


def footer_without_what_is_handed_out(patch: pytest.MonkeyPatch) -> WorldFactory:
    everything = footer.alive

    def ready_only(entries: EntrySource, *rest: Any) -> list[EntryColumns]:
        return everything(_Ready(entries), *rest)

    patch.setattr(open_segment, "alive", ready_only)
    return small_world


class _Ready:
    """Of the entries that there are, those that nobody has."""

    def __init__(self, entries: EntrySource) -> None:
        self._entries = entries

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        for columns in self._entries.live_entries(queue_id, start, end):
            for place, state in enumerate(columns.states):
                if state != EntryState.TAKEN:
                    yield columns.part(place, place + 1)


def footer_without_acks(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(
        foreign_ranges_by_segment, "ranges_of", lambda foreign: Ranges([], list(foreign.requeued))
    )
    return small_world


def footer_without_the_last_entry(patch: pytest.MonkeyPatch) -> WorldFactory:
    everything = footer.alive

    def all_but_the_last(*given: Any) -> list[EntryColumns]:
        groups = everything(*given)
        if groups:
            last = groups.pop()
            if len(last.sequences) > 1:
                groups.append(last.part(0, len(last.sequences) - 1))
        return groups

    patch.setattr(open_segment, "alive", all_but_the_last)
    return small_world


def sources_deleted_before_the_copy_is_durable(patch: pytest.MonkeyPatch) -> WorldFactory:
    """The copy gets its name without a sync of the directory, and they go in the same batch. The
    disk is slow, and the power fails often: a crash comes between."""
    take = Rewriting.take_operations

    def all_at_once(self: Rewriting, synced: int) -> list[Operation]:
        operations = take(self, synced)
        if len(operations) == 2:
            sources = [DeleteFile(source.name.file) for source in self._sources]
            return [*sources, *operations]
        return operations

    patch.setattr(Rewriting, "take_operations", all_at_once)
    patch.setattr(deletions, "removal", _delete_if_there)
    patch.setattr(disk_pump, "OPERATION_US", (1_000, 20_000))
    patch.setattr(faults, "_WEIGHTS", {Fault.POWER_LOSS: 1, Fault.KILL: 1})
    return small_world


def _delete_if_there(use: SegmentUse) -> Operation:
    return Sync(use.name.file) if use.state is SegmentState.REWRITING else removal(use)


def rewriting_forgets_an_entry(patch: pytest.MonkeyPatch) -> WorldFactory:
    """The last message of each source."""
    copy = SegmentCopy._copy_records

    def all_but_one(self: SegmentCopy, source: Source, positions: list[int]) -> None:
        copy(self, source, positions[:-1])

    patch.setattr(SegmentCopy, "_copy_records", all_but_one)
    return small_world


def rewriting_forgets_an_ack(patch: pytest.MonkeyPatch) -> WorldFactory:
    """One queue is done with a message that others have: that isn't said in the copy."""
    patch.setattr(SegmentCopy, "_note_dead", lambda self, head: None)
    return small_world


def rewriting_forgets_requeues(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(copying, "group_of", _as_new)
    patch.setattr(SegmentCopy, "_redelivered", lambda self: EntryRanges())
    # After a crash everything counts as redelivered.
    patch.setattr(faults, "_WEIGHTS", {Fault.CLEAN_STOP: 1, Fault.LINK_CUT: 2})
    return small_world


def _as_new(queue_id: int, pieces: Iterable[EntryColumns]) -> EntryColumns | None:
    group = footer.group_of(queue_id, pieces)
    return group and group._replace(states=bytes([EntryState.READY]) * len(group.sequences))


def rewriting_forgets_what_was_said_of_others(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(SegmentCopy, "_foreign_ranges", lambda self: {})
    return small_world


def acks_of_merged_segments_forgotten(patch: pytest.MonkeyPatch) -> WorldFactory:
    """Ranges about a segment that was merged since are known by its old base."""
    patch.setattr(
        RewritePlan, "carries", lambda self, base: base in [span.base for span in self.referenced]
    )
    # What is acked while a copy is made isn't baked into it.
    patch.setattr(rewrite_pump, "OPERATION_US", (10_000, 200_000))
    return small_world


def acks_of_the_segment_in_use_baked_twice(patch: pytest.MonkeyPatch) -> WorldFactory:
    """What continues a range that was baked is taken for baked too."""
    patch.setattr(ForeignRanges, "close", lambda self: None)
    return small_world


def nothing_is_rewritten(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(Log, "begin_rewrite", lambda self, looks: None)
    return small_world


def copies_left_behind(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(recovery, "COPY_SUFFIX", ".nothing")
    patch.setattr(rewrite_pump, "OPERATION_US", (100_000, 800_000))
    return small_world


def checksums_not_verified(patch: pytest.MonkeyPatch) -> WorldFactory:
    """By whoever reads messages back, and copies them."""

    class Anything(int):
        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = int.__hash__

    def any_checksum(kind: ChecksumKind) -> Any:
        return lambda data, seed=0: Anything(0)

    patch.setattr(reading, "checksum_of", any_checksum)
    patch.setattr(copying, "checksum_of", any_checksum)
    return lambda seed: World(_rotten(seed))


def page_read_before_it_is_written(patch: pytest.MonkeyPatch) -> WorldFactory:
    """A message is taken out of memory when its page is ordered, and read by another thread."""
    take = Pages.take_batch

    def forgetful(self: Pages) -> PageBatch | None:
        batch = take(self)
        for position in batch.positions if batch else ():
            self._forget_unwritten(position)
        return batch

    submit = BacklogPump._submit

    def writes_are_late(self: BacklogPump, job: Any) -> None:
        late_us = 500_000 if job.func.__name__ == "_write" else 0
        self._clock.after(late_us, lambda: submit(self, job))

    patch.setattr(Pages, "take_batch", forgetful)
    patch.setattr(BacklogPump, "_submit", writes_are_late)
    return lambda seed: World(_paging(seed))


def _paging(seed: int) -> Scenario:
    """Memory is short, and nothing is lost by itself: so it is known what the end must have."""
    scenario = draw(seed, DURATION_US)
    return replace(
        scenario,
        broker=replace(scenario.broker, memory_bytes=50_000),
        clients=tuple(replace(client, transient_chance=0.9) for client in scenario.clients),
        fault_pause_us=(10 * DURATION_US, 10 * DURATION_US),
    )


# The queue


def redelivered_forgotten_by_recovery(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(QueueIndex, "mark_redelivered_below", lambda self, position: None)
    return small_world


def requeue_at_the_tail(patch: pytest.MonkeyPatch) -> WorldFactory:
    def at_the_tail(self: Queue, leases: Iterable[Lease]) -> None:
        journal = self.env.journal
        for lease in leases:
            if self.leases.pop(lease.sequence, None) is not lease:
                continue
            content = lease.content
            index = self.index_of(lease.sequence)
            expires_at_ms = index.expires_at(lease.sequence)
            sequence = index.tail
            again = Content(content.route, content.header, content.body)
            if content.position >= 0:
                journal.publish([Entry(self.id, sequence, expires_at_ms)], again)
            size, at, stored = len(content.body), again.position, again.stored
            index.restore(sequence, at, size, stored, True, expires_at_ms)
            if content.position >= 0:
                journal.ack(self.id, lease.sequence, content.position, content.stored)
            index.settle(lease.sequence)
            self.contents[sequence] = again
        self.env.mark_dirty(self)

    patch.setattr(Queue, "requeue", at_the_tail)
    return small_world


def priorities_ignored(patch: pytest.MonkeyPatch) -> WorldFactory:
    """The lowest level comes first."""
    levels = PriorityLevels.index_for

    def upside_down(self: PriorityLevels, priority: int) -> Any:
        index = levels(self, priority)
        self._levels.sort()
        return index

    patch.setattr(PriorityLevels, "index_for", upside_down)
    return small_world


def purge_not_logged(patch: pytest.MonkeyPatch) -> WorldFactory:
    def purge(self: Queue) -> int:
        self.dispatch()
        count = sum(1 for index in self.indexes() for _ in index.purge())
        self.contents.clear()
        self.backlog.all_gone()
        self.purged += count
        return count

    patch.setattr(Queue, "purge", purge)
    return small_world


def purge_takes_what_is_held(patch: pytest.MonkeyPatch) -> WorldFactory:
    """It doesn't look at who has it, and doesn't count it."""
    purge = Queue.purge

    def purge_all(self: Queue) -> int:
        count = purge(self)
        for lease in list(self.leases.values()):
            self.ack(lease)
        return count

    patch.setattr(Queue, "purge", purge_all)
    return small_world


def queue_id_reused(patch: pytest.MonkeyPatch) -> WorldFactory:
    """A queue that is declared again has its old id, so that what was deleted has to be acked one
    by one; and that isn't done."""
    queue_of = VHost._queue_of

    def by_name(self: VHost, wanted: Any, *rest: Any, **stored: Any) -> Queue:
        renamed = wanted._replace(id=zlib.crc32(wanted.name.encode()))
        return queue_of(self, renamed, *rest, **stored)

    def forget(self: Queue) -> None:
        self.contents.clear()
        self.leases.clear()
        self.deleted = True
        self.expiry.cancel()

    patch.setattr(VHost, "_queue_of", by_name)
    patch.setattr(Queue, "delete", forget)
    return small_world


def blind_messages_dropped(patch: pytest.MonkeyPatch) -> WorldFactory:
    """One in ten of those that nobody acks is taken, and not sent."""
    deliver = Consumer.deliver

    def deliver_most(self: Consumer, lease: Lease) -> None:
        if not self.no_ack or lease.sequence % 10:
            deliver(self, lease)

    patch.setattr(Consumer, "deliver", deliver_most)
    return small_world


def bodies_mixed_up(patch: pytest.MonkeyPatch) -> WorldFactory:
    """Two messages of one size have the body of the first when they are read."""
    arrived = Backlog.arrived
    bodies: dict[int, Any] = {}

    def with_any_body(self: Backlog, answers: Iterable[tuple[int, Content | None]]) -> None:
        for _, content in answers:
            if content is not None:
                content.body = bodies.setdefault(len(content.body), content.body)
        arrived(self, answers)

    patch.setattr(Backlog, "arrived", with_any_body)
    return small_world


def prefetch_ignored(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(Consumer, "capacity", lambda self: True)
    return small_world


# Messages that leave by themselves


def expired_too_early(patch: pytest.MonkeyPatch) -> WorldFactory:
    early = expiry.expires_at_ms

    def half(wall_ms: int, queue_ttl_ms: int | None, message_ttl_ms: int | None) -> int:
        at_ms = early(wall_ms, queue_ttl_ms, message_ttl_ms)
        return wall_ms + (at_ms - wall_ms) // 2 if at_ms else 0

    patch.setattr(expiry, "expires_at_ms", half)
    return small_world


def expired_handed_out(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(MessageExpiry, "drop_overdue", lambda self: None)
    patch.setattr(MessageExpiry, "drop_due", lambda self: None)
    return small_world


def limit_of_a_quarter(patch: pytest.MonkeyPatch) -> WorldFactory:
    init = LengthLimit.__init__

    def a_quarter(self: LengthLimit, max_length: int | None, *rest: Any) -> None:
        init(self, max_length and max_length // 4, *rest)

    patch.setattr(LengthLimit, "__init__", a_quarter)
    return small_world


def dead_letters_dropped(patch: pytest.MonkeyPatch) -> WorldFactory:
    """One in three, after its source was acked."""
    send = dead_letters.DeadLetters._send

    def send_most(self: dead_letters.DeadLetters, death: Death) -> None:
        if death.sequence % 3 or not death.is_logged:
            send(self, death)
        else:
            journal, content = death.queue.env.journal, death.content
            journal.ack(death.queue.id, death.sequence, content.position, content.stored)
            death.queue.buried(death)

    patch.setattr(dead_letters.DeadLetters, "_send", send_most)
    return small_world


def deaths_not_counted(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(x_death, "_count", lambda value: 0)
    return small_world


def deaths_counted_twice(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(x_death, "_count", lambda value: 2)
    return small_world


FOUND_BY: dict[str, tuple[Plant, ...]] = {
    "durability": (no_sync, no_directory_sync, confirm_before_sync, cut_at_corruption,
        segment_with_live_messages_deleted, expired_too_early, limit_of_a_quarter,
        dead_letters_dropped, purge_takes_what_is_held, blind_messages_dropped,
        sources_deleted_before_the_copy_is_durable, footer_without_what_is_handed_out,
        footer_without_the_last_entry, rewriting_forgets_an_entry,
        page_read_before_it_is_written),
    "acks": (ack_not_logged, ack_of_a_sealed_segment_not_logged, segment_with_live_acks_deleted,
        purge_not_logged, rewriting_forgets_what_was_said_of_others, footer_without_acks),
    "books": (queue_id_reused,),
    "rebuild": (acks_of_the_segment_in_use_baked_twice,
        acks_of_merged_segments_forgotten, rewriting_forgets_an_ack, expiry_not_stored),
    "redelivered": (rewriting_forgets_requeues, redelivered_forgotten_by_recovery),
    "disk use": (nothing_is_rewritten, copies_left_behind),
    "content": (checksums_not_verified, bodies_mixed_up),
    "order": (requeue_at_the_tail, priorities_ignored),
    "prefetch": (prefetch_ignored,),
    "expiry": (expired_handed_out,),
    "x-death": (deaths_not_counted, deaths_counted_twice, moved_without_leaving),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "checker"),
    [(plant, checker) for checker, plants in FOUND_BY.items() for plant in plants],
    ids=lambda value: getattr(value, "__name__", ""),
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
            print(f"seed {seed}: {result.failure}")
            assert (result.lost > 0) == (checker == "durability")
            return
    pytest.fail(f"{checker} didn't see it: {failures}")


def test_what_is_planted_here_is_the_only_thing_wrong() -> None:
    assert [run_seed(seed, small_world).failure for seed in SEEDS[:10]] == [""] * 10
