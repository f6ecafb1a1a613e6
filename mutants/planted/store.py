"""Bugs in the store and its disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import paging, with_a_bit_flipped, with_faults, with_many_requeues
from reference_broker.core.channel.confirms import ConfirmLedger, Promise
from reference_broker.core.index.index import EntryState
from reference_broker.core.journal.journal import Entry, EntryColumns, EntrySource
from reference_broker.core.message.content import Content
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.machine import disk_pump, rewrite_pump
from reference_broker.simulation.machine.virtual_worker import VirtualWorker
from reference_broker.simulation.plan.fault_profile import Fault
from reference_broker.store import Batch, Log, Operation
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
from reference_broker.store.log.pages import PageBatch, Pages, write_pages
from reference_broker.store.rewrite import copying
from reference_broker.store.rewrite.copying import SegmentCopy
from reference_broker.store.rewrite.rewriting import Rewriting
from reference_broker.store.start import opening, recovery

# The disk


@mutant("durability", showed_at=20)
def no_sync(patch: pytest.MonkeyPatch) -> None:
    """fdatasync returns, and nothing happened."""
    _never_performed(patch, Sync)


@mutant("durability", "definitions")
def no_directory_sync(patch: pytest.MonkeyPatch) -> None:
    """Files are synced, their names are not."""
    _never_performed(patch, SyncDirectory)


def _never_performed(patch: pytest.MonkeyPatch, kind: type[Operation]) -> None:
    perform = PoweredDisk.perform

    def all_others(self: PoweredDisk, operation: Operation) -> None:
        if not isinstance(operation, kind):
            perform(self, operation)

    patch.setattr(PoweredDisk, "perform", all_others)


# The log


@mutant("durability", showed_at=9)
def confirm_before_sync(patch: pytest.MonkeyPatch) -> None:
    def promise(self: ConfirmLedger, position: int, promise: Promise, marks: object = ()) -> None:
        promise.kept()

    patch.setattr(ConfirmLedger, "promise", promise)


@mutant("rebuild", showed_at=1)
def acks_alone_count_as_synced(patch: pytest.MonkeyPatch) -> None:
    """The log takes what it has written for what is on the disk."""
    end_batch = Log._end_batch

    def written_is_synced(self: Log, last: list[Operation], *, sync: bool = True) -> Batch:
        batch = end_batch(self, last, sync=sync)
        batch.end = self.tail
        return batch

    patch.setattr(Log, "_end_batch", written_is_synced)


@mutant("durability", worlds=with_a_bit_flipped, showed_at=24)
def cut_at_corruption(patch: pytest.MonkeyPatch) -> None:
    """A record that can't be read is taken for the end, as if it were the unsynced tail."""
    walk = SegmentScan.__iter__

    def until_the_first_gap(self: SegmentScan) -> Iterator[Found | Gap]:
        for item in walk(self):
            yield item
            if isinstance(item, Gap):
                return

    patch.setattr(SegmentScan, "__iter__", until_the_first_gap)
    # The footers would do without most of the records.
    patch.setattr(opening, "recover", partial(recovery.recover, trust_footers=False))


@mutant("acks")
def ack_not_logged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "ack", lambda self, queue_id, sequence, position, stored: None)


@mutant("acks")
def ack_of_a_sealed_segment_not_logged(patch: pytest.MonkeyPatch) -> None:
    """Later acks are ignored: those of messages that are not in the segment in use."""
    ack = Log.ack

    def only_of_this_segment(self: Log, queue_id: int, sequence: int, at: int, size: int) -> None:
        if at >= self._segment.base:
            ack(self, queue_id, sequence, at, size)

    patch.setattr(Log, "ack", only_of_this_segment)


@mutant("acks", showed_at=9)
def segment_with_live_acks_deleted(patch: pytest.MonkeyPatch) -> None:
    def is_dead(self: Liveness, use: SegmentUse) -> bool:
        return use.state is SegmentState.SEALED and not use.live_bytes and not use.defines

    patch.setattr(Liveness, "_is_dead", is_dead)


@mutant("durability", showed_at=5)
def segment_with_live_messages_deleted(patch: pytest.MonkeyPatch) -> None:
    def is_dead(self: Liveness, use: SegmentUse) -> bool:
        idle = use.state is SegmentState.SEALED and not use.references and not use.defines
        return idle and use.live_bytes < 1_500

    patch.setattr(Liveness, "_is_dead", is_dead)


@mutant("rebuild", showed_at=2)
def expiry_not_stored(patch: pytest.MonkeyPatch) -> None:
    publish = Log.publish

    def without_expiry(self: Log, entries: Iterable[Entry], content: Content) -> None:
        publish(self, [entry._replace(expires_at_ms=0) for entry in entries], content)

    patch.setattr(Log, "publish", without_expiry)


@mutant("x-death", showed_at=5)
def moved_without_leaving(patch: pytest.MonkeyPatch) -> None:
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


# Footers, rewriting, reading


@mutant("durability", showed_at=2)
def footer_without_what_is_handed_out(patch: pytest.MonkeyPatch) -> None:
    everything = footer.alive

    def ready_only(entries: EntrySource, *rest: Any) -> list[EntryColumns]:
        return everything(_Ready(entries), *rest)

    patch.setattr(open_segment, "alive", ready_only)


class _Ready:
    """Of the entries that there are, those that nobody has."""

    def __init__(self, entries: EntrySource) -> None:
        self._entries = entries

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        for columns in self._entries.live_entries(queue_id, start, end):
            for place, state in enumerate(columns.states):
                if state != EntryState.TAKEN:
                    yield columns.part(place, place + 1)


@mutant("acks", showed_at=2)
def footer_without_acks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        foreign_ranges_by_segment, "ranges_of", lambda foreign: Ranges([], list(foreign.requeued))
    )


@mutant("durability")
def footer_without_the_last_entry(patch: pytest.MonkeyPatch) -> None:
    everything = footer.alive

    def all_but_the_last(*given: Any) -> list[EntryColumns]:
        groups = everything(*given)
        if groups:
            last = groups.pop()
            if len(last.sequences) > 1:
                groups.append(last.part(0, len(last.sequences) - 1))
        return groups

    patch.setattr(open_segment, "alive", all_but_the_last)


@mutant("durability", worlds=with_faults({Fault.POWER_LOSS: 1, Fault.KILL: 1}), showed_at=23)
def sources_deleted_before_the_copy_is_durable(patch: pytest.MonkeyPatch) -> None:
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


def _delete_if_there(use: SegmentUse) -> Operation:
    return Sync(use.name.file) if use.state is SegmentState.REWRITING else removal(use)


@mutant("durability")
def rewriting_forgets_an_entry(patch: pytest.MonkeyPatch) -> None:
    """The last message of each source."""
    copy = SegmentCopy._copy_records

    def all_but_one(self: SegmentCopy, source: Source, positions: list[int]) -> None:
        copy(self, source, positions[:-1])

    patch.setattr(SegmentCopy, "_copy_records", all_but_one)


@mutant("rebuild", showed_at=2)
def rewriting_forgets_an_ack(patch: pytest.MonkeyPatch) -> None:
    """One queue is done with a message that others have: that isn't said in the copy."""
    patch.setattr(SegmentCopy, "_note_dead", lambda self, head: None)


@mutant(
    "redelivered",
    worlds=with_faults({Fault.CLEAN_STOP: 1, Fault.LINK_CUT: 2}, with_many_requeues),
    showed_at=4,
)
def rewriting_forgets_requeues(patch: pytest.MonkeyPatch) -> None:
    """After a crash everything counts as redelivered, so there is none in its worlds."""
    patch.setattr(copying, "group_of", _as_new)
    patch.setattr(SegmentCopy, "_redelivered", lambda self: EntryRanges())


def _as_new(queue_id: int, pieces: Iterable[EntryColumns]) -> EntryColumns | None:
    group = footer.group_of(queue_id, pieces)
    return group and group._replace(states=bytes([EntryState.READY]) * len(group.sequences))


@mutant("acks", showed_at=10)
def rewriting_forgets_what_was_said_of_others(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentCopy, "_foreign_ranges", lambda self: {})


@mutant("rebuild", showed_at=5)
def acks_of_merged_segments_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Ranges about a segment that was merged since are known by its old base."""
    patch.setattr(
        RewritePlan, "carries", lambda self, base: base in [span.base for span in self.referenced]
    )
    # What is acked while a copy is made isn't baked into it.
    patch.setattr(rewrite_pump, "STEP_US", (10_000, 200_000))


@mutant("rebuild", showed_at=2)
def acks_of_the_segment_in_use_baked_twice(patch: pytest.MonkeyPatch) -> None:
    """Acks that continue a range that was baked are taken for baked too."""
    patch.setattr(ForeignRanges, "close", lambda self: None)


@mutant("disk use", showed_at=9)
def nothing_is_rewritten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "begin_rewrite", lambda self, looks: None)


@mutant("disk use")
def drained_segments_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Liveness, "take_dead", lambda self, most: [])


@mutant("disk use", showed_at=8)
def copies_left_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "COPY_SUFFIX", ".nothing")
    patch.setattr(rewrite_pump, "STEP_US", (100_000, 800_000))


@mutant("content", worlds=with_a_bit_flipped, showed_at=34)
def checksums_not_verified(patch: pytest.MonkeyPatch) -> None:
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


@mutant("durability", worlds=paging, showed_at=109)
def page_read_before_it_is_written(patch: pytest.MonkeyPatch) -> None:
    """A message is taken out of memory when its page is ordered, and read by another thread."""
    take = Pages.take_batch

    def forgetful(self: Pages) -> PageBatch | None:
        batch = take(self)
        for position in batch.positions if batch else ():
            self._forget_unwritten(position)
        return batch

    submit = VirtualWorker.submit

    def writes_are_late(self: VirtualWorker, work: Any, done: Any) -> None:
        late_us = 500_000 if work.func is write_pages else 0
        self._clock.after(late_us, lambda: submit(self, work, done))

    patch.setattr(Pages, "take_batch", forgetful)
    patch.setattr(VirtualWorker, "submit", writes_are_late)
