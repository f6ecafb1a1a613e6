"""The one rewriting that may be on its way, and the plan that it begins with.

    NONE
    COPYING     somebody writes the copy
    COPIED      it is synced, and waits until everything that its plan knew is synced as well:
                an ack that is baked into it must not outlive the publish that the same turn logged
    COMMITTING  the batch that gives it its name is on its way
    DISCARDING  the batch that deletes it is on its way: another copy may have the same file

Until it has its name it is a file that the next start deletes. From then on it stands for its
sources, which are deleted one batch later.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import TypedDict, Unpack

from reference_broker.core.journal.journal import EntrySource
from reference_broker.store.disk.ports import DeleteFile, Operation, RenameFile, SyncDirectory
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.footer import alive
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import ALL, Liveness, SegmentUse
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult, Span


class RewriteStage(Enum):
    NONE = auto()
    COPYING = auto()
    COPIED = auto()
    COMMITTING = auto()
    DISCARDING = auto()


TRANSITIONS: dict[RewriteStage, tuple[RewriteStage, ...]] = {
    RewriteStage.NONE: (RewriteStage.COPYING,),
    RewriteStage.COPYING: (RewriteStage.COPIED, RewriteStage.NONE),
    RewriteStage.COPIED: (RewriteStage.COMMITTING, RewriteStage.DISCARDING),
    RewriteStage.COMMITTING: (RewriteStage.NONE,),
    RewriteStage.DISCARDING: (RewriteStage.NONE,),
}


class Rewriting:
    """The stage of the rewriting that is on its way, if any. One at a time."""

    def __init__(self, liveness: Liveness) -> None:
        self._liveness = liveness
        self._stage = RewriteStage.NONE
        self._plan: RewritePlan | None = None
        self._result: RewriteResult | None = None
        self._sources: Sequence[SegmentUse] = ()
        self._replaced: list[SegmentUse] = []

    @property
    def possible(self) -> bool:
        """None is on its way, and something has changed since the last look."""
        return self._stage is RewriteStage.NONE and self._liveness.worth_a_look

    @property
    def has_replaced(self) -> bool:
        """:meth:`take_replaced` has something."""
        return bool(self._replaced)

    def begin(
        self, sources: Sequence[SegmentUse], entries: EntrySource, **of_the_log: Unpack[_OfTheLog]
    ) -> RewritePlan | None:
        """The plan to rewrite ``sources``; ``None`` when there are none."""
        if not sources:
            return None
        self._change(RewriteStage.COPYING)
        self._sources = sources
        self._plan = _plan(sources, self._liveness, entries, **of_the_log)
        self._liveness.bake(sources)
        return self._plan

    def finish(self, plan: RewritePlan, result: RewriteResult) -> None:
        """The copy is written and synced."""
        assert plan is self._plan
        self._change(RewriteStage.COPIED)
        self._result = result

    def abandon(self, plan: RewritePlan) -> None:
        """There will be no copy, and there is none any more. Not once it is finished."""
        assert plan is self._plan
        assert self._stage is RewriteStage.COPYING
        self._give_up(RewriteStage.NONE)

    def take_operations(self, synced: int) -> list[Operation]:
        """The operations that give the copy its name, when it is time for that."""
        plan = self._plan
        if plan is None or self._stage is not RewriteStage.COPIED or synced < plan.tail:
            return []
        if any(source.damaged for source in self._sources):
            # Found damaged meanwhile: it has to be put aside, not replaced.
            self._give_up(RewriteStage.DISCARDING)
            return [DeleteFile(plan.name.copy_file)]
        self._change(RewriteStage.COMMITTING)
        return [RenameFile(plan.name.copy_file, plan.name.file), SyncDirectory()]

    def batch_synced(self) -> None:
        """If the batch gave the copy its name, it stands for its sources from now on."""
        if self._stage is RewriteStage.DISCARDING:
            self._change(RewriteStage.NONE)
        if self._stage is not RewriteStage.COMMITTING:
            return
        plan, result = self._plan, self._result
        assert plan is not None
        assert result is not None
        new = SegmentUse(plan.name, result.size_bytes, plan.checksum)
        new.end = plan.end
        new.extents = result.extents
        self._liveness.replace(self._sources, new, result.foreign)
        self._replaced += self._sources
        self._plan = self._result = None
        self._change(RewriteStage.NONE)

    def take_replaced(self, most: int = ALL) -> list[SegmentUse]:
        """The segments whose files are to be deleted now, but no more than so many."""
        replaced, self._replaced = self._replaced[:most], self._replaced[most:]
        return replaced

    def _give_up(self, stage: RewriteStage) -> None:
        self._change(stage)
        self._plan = self._result = None
        self._liveness.unbake(self._sources)

    def _change(self, stage: RewriteStage) -> None:
        if stage not in TRANSITIONS[self._stage]:
            raise AssertionError(f"rewriting: {self._stage.name} -> {stage.name}")
        self._stage = stage


class _OfTheLog(TypedDict):
    epoch: int
    redelivered_below: int
    tail: int
    checksum: ChecksumKind


def _plan(
    sources: Sequence[SegmentUse],
    liveness: Liveness,
    entries: EntrySource,
    **of_the_log: Unpack[_OfTheLog],
) -> RewritePlan:
    first, last = sources[0], sources[-1]
    generation = 1 + max(source.name.generation for source in sources)
    return RewritePlan(
        name=SegmentName(first.base, first.name.epoch, generation),
        end=last.end,
        sources=[source.source() for source in sources],
        entries=alive(
            entries,
            dict.fromkeys(queue_id for source in sources for queue_id in source.touched),
            first.base,
            last.end,
        ),
        referenced=_referenced(sources, liveness),
        **of_the_log,
    )


def _referenced(sources: Sequence[SegmentUse], liveness: Liveness) -> tuple[Span, ...]:
    own = {source.base for source in sources}
    spans: dict[Span, None] = {}
    for source in sources:
        for base in source.references:
            use = liveness.find(base)
            if use is not None and use.base not in own:
                spans[Span(use.base, use.end)] = None
    return tuple(sorted(spans))
