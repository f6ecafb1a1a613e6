"""A rewriting adds at most one segment to what the log took before, while both are there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.runtime.disk import rewriter
from reference_broker.simulation.report import world_of
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.watch.checkers.disk_use import ENTRY_BYTES, FILE_BYTES
from reference_broker.store import Disk
from reference_broker.store.format.footer import FOOTER_RANGE_BYTES, FOREIGN_RANGES_ROOM
from reference_broker.store.format.record import RANGE_BYTES
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult
from reference_broker.store.rewrite.rewrite import build


def run(seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of copies in a run. Raises :exc:`Violation` for one that is too large."""
    world = world_of(seed)
    copies = []

    def measured(plan: RewritePlan, disk: Disk, pause: Callable[[], None]) -> RewriteResult:
        result = build(plan, disk, pause)
        # A segment with a large message is larger than others, and so may its copy be.
        sizes = [world.scenario.broker.segment_bytes, *(each.size_bytes for each in plan.sources)]
        entries = sum(len(columns.sequences) for columns in plan.entries)
        beside = entries * ENTRY_BYTES + len(result.foreign) * FOREIGN_RANGES_ROOM + FILE_BYTES
        beside += sum(result.foreign.values()) * FOOTER_RANGE_BYTES // RANGE_BYTES
        if result.size_bytes > max(sizes) + beside:
            raise Violation("disk use", f"a copy of {entries} entries has {result.size_bytes}")
        copies.append(result.size_bytes)
        return result

    monkeypatch.setattr(rewriter, "build", measured)
    world.run()
    return len(copies)


@pytest.mark.parametrize("seed", [0, 3, 9, 921])
def test_a_copy_is_no_larger_than_a_segment(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(seed, monkeypatch) > 2


@pytest.mark.parametrize("seed", [45, 385])
def test_a_copy_of_what_went_to_many_queues(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that one of several queues still has is copied whole, and counts in part."""
    run(seed, monkeypatch)
