"""Bugs in bodies of several chunks, where a file can't be read for a while, and where messages are
removed while they are read."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from itertools import cycle
from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import in_small_chunks, where_reads_fail, with_feature
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.message.content import Body, Content
from reference_broker.core.methods import queue as queue_methods
from reference_broker.core.queue import removal
from reference_broker.core.queue.backlog import Backlog
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.until import Until
from reference_broker.simulation.machine.faults import FaultInjector
from reference_broker.store.format import record
from reference_broker.store.format.record import MessageHead
from reference_broker.store.format.scan import Found, Gap
from reference_broker.store.log import reading
from reference_broker.store.rewrite.copying import SegmentCopy
from reference_broker.store.start import fold, recovery

# Bodies in chunks


@mutant("content", worlds=with_feature("large"))
def a_body_is_read_up_to_its_first_chunk(patch: pytest.MonkeyPatch) -> None:
    chunks = reading._chunks

    def first(*given: Any) -> tuple[Body, int]:
        body, end = chunks(*given)
        rest = len(body) - record.CHUNK_BYTES
        return bytes(body[: record.CHUNK_BYTES]) + bytes(rest), end

    patch.setattr(reading, "_chunks", first)


@mutant("false alarm", worlds=with_feature("large"), showed_at=10)
def a_start_takes_bodies_in_chunks_for_torn(patch: pytest.MonkeyPatch) -> None:
    def only_whole(found: Found, head: MessageHead, chunks: Sequence[Found | Gap]) -> int | None:
        return None if head.chunks else found.end

    for module in (fold, recovery):
        patch.setattr(module, "chunks_end", only_whole)


# Reads that fail


@mutant("liveness", worlds=where_reads_fail, showed_at=15)
def a_medium_that_reports_a_loss_is_an_accident(patch: pytest.MonkeyPatch) -> None:
    """It is read again and again, and here no time makes it readable."""
    patch.setattr(reading, "DAMAGE", frozenset())
    patch.setattr(FaultInjector, "_readable", lambda self: None)


@mutant("durability", worlds=where_reads_fail, showed_at=24)
def what_can_not_be_read_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Backlog, "note_lost", lambda self, count: None)


# Queues that are purged or deleted while they are read


@mutant("removals", worlds=with_feature("removals"))
def a_purge_does_nothing_while_messages_are_read(patch: pytest.MonkeyPatch) -> None:
    purge = removal.purge

    def unless_reading(queue: Queue) -> Generator[Until | None, None, int]:
        return 0 if queue.backlog.fetching else (yield from purge(queue))

    patch.setattr(queue_methods, "purge", unless_reading)


@mutant("books", worlds=with_feature("removals"))
def what_was_read_is_kept_though_it_is_gone(patch: pytest.MonkeyPatch) -> None:
    arrived = Backlog.arrived

    def kept(self: Backlog, answers: Iterable[tuple[int, Content | None]]) -> None:
        answers = list(answers)
        arrived(self, answers)
        for sequence, content in answers:
            if content is not None and sequence not in self._queue.contents:
                self._queue.contents[sequence] = content

    patch.setattr(Backlog, "arrived", kept)


@mutant("removals", worlds=with_feature("removals"))
def a_purge_leaves_what_has_to_be_read(patch: pytest.MonkeyPatch) -> None:
    remove_ready = removal.remove_ready

    def up_to_what_is_absent(
        queue: Queue, index: QueueIndex, below: int
    ) -> Generator[None, None, int]:
        first = index.head_sequence()
        sequences = range(0 if first is None else first, below)
        absent = next((each for each in sequences if each not in queue.contents), below)
        return (yield from remove_ready(queue, index, absent))

    patch.setattr(removal, "remove_ready", up_to_what_is_absent)


@mutant("removals", worlds=with_feature("removals"))
def every_other_purge_is_only_answered(patch: pytest.MonkeyPatch) -> None:
    purge, turns = removal.purge, cycle((True, False))

    def answered(queue: Queue) -> Generator[Until | None, None, int]:
        return (yield from purge(queue)) if next(turns) else queue.ready

    patch.setattr(queue_methods, "purge", answered)


# Small chunks, which are copied too


@mutant("durability", "rebuild", "false alarm", worlds=in_small_chunks)
def a_copy_has_messages_without_their_chunks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentCopy, "_copy_chunks", lambda self, *place: None)


@mutant("durability", "false alarm", "rebuild", worlds=in_small_chunks, showed_at=129)
def a_start_forgets_the_last_chunk(patch: pytest.MonkeyPatch) -> None:
    """A message whose last part is torn is taken for whole."""
    for module in (fold, recovery):
        patch.setattr(
            module,
            "chunks_end",
            lambda found, head, chunks: chunks[-1].end if chunks else found.end,
        )
