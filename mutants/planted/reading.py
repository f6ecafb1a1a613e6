"""Bugs in bodies of several chunks, and where a file can't be read for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import where_reads_fail, with_feature
from reference_broker.core.queue.backlog import Backlog
from reference_broker.simulation.machine.faults import FaultInjector
from reference_broker.store.format import record
from reference_broker.store.format.record import MessageHead
from reference_broker.store.format.scan import Found, Gap
from reference_broker.store.log import reading
from reference_broker.store.start import fold, recovery

# Bodies in chunks


@mutant("content", worlds=with_feature("large"))
def a_body_is_read_up_to_its_first_chunk(patch: pytest.MonkeyPatch) -> None:
    chunks = reading._chunks

    def first(*given: Any) -> tuple[bytearray, int]:
        body, end = chunks(*given)
        rest = len(body) - record.CHUNK_BYTES
        return body[: record.CHUNK_BYTES] + bytes(rest), end

    patch.setattr(reading, "_chunks", first)


@mutant("false alarm", worlds=with_feature("large"), showed_at=10)
def a_start_takes_bodies_in_chunks_for_torn(patch: pytest.MonkeyPatch) -> None:
    def only_whole(found: Found, head: MessageHead, chunks: Sequence[Found | Gap]) -> int | None:
        return None if head.chunks else found.end

    for module in (fold, recovery):
        patch.setattr(module, "chunks_end", only_whole)


# Reads that fail


@mutant("liveness", worlds=where_reads_fail, showed_at=8)
def a_medium_that_reports_a_loss_is_an_accident(patch: pytest.MonkeyPatch) -> None:
    """It is read again and again, and here no time makes it readable."""
    patch.setattr(reading, "DAMAGE", frozenset())
    patch.setattr(FaultInjector, "_readable", lambda self: None)


@mutant("durability", worlds=where_reads_fail, showed_at=5)
def what_can_not_be_read_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Backlog, "note_lost", lambda self, count: None)
