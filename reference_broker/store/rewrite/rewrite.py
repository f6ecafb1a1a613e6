"""Rewriting: the choice of segments that are worth it, and their copy, made on a thread.

A copy is made out of files that don't change any more, by a plan that doesn't either
(:mod:`reference_broker.store.liveness.rewrite_plan`). Whatever goes wrong, the sources are
untouched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from reference_broker.store.disk.ports import DeleteFile, Disk
from reference_broker.store.liveness.liveness import SegmentUse
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult
from reference_broker.store.rewrite.copying import SegmentCopy

SMALL_PART = 8
"""A segment smaller than this part of a new one is merged with its neighbours: on its own where
one of them is rewritten anyway, and where this many small ones follow each other."""


def choose(segments: Iterable[SegmentUse], segment_bytes: int, looks: int = 0) -> list[SegmentUse]:
    """The oldest neighbours that are worth rewriting into one; none where nothing is.

    ``segments`` are all that there are, in log order; so many ``looks`` in a row must have found
    that one is a victim (:meth:`Liveness.look`). What is needed of the chosen ones takes at most
    half a segment, so that the rewriting never needs more room than one; or it is one alone, whose
    messages are larger than that.
    """
    run: list[SegmentUse] = []
    copy_bytes = 0
    for use in segments:
        due = use.victim and use.looks >= looks
        takes_part = due or (use.rewritable and use.size_bytes * SMALL_PART < segment_bytes)
        if run and (not takes_part or copy_bytes + use.copy_bytes > segment_bytes // 2):
            if _is_worth_it(run, looks):
                return run
            run, copy_bytes = [], 0
        if takes_part:
            run.append(use)
            copy_bytes += use.copy_bytes
    return run if _is_worth_it(run, looks) else []


def _is_worth_it(run: list[SegmentUse], looks: int) -> bool:
    return len(run) >= SMALL_PART or any(use.victim and use.looks >= looks for use in run)


def build(plan: RewritePlan, disk: Disk, pause: Callable[[], None] = lambda: None) -> RewriteResult:
    """Write ``plan.name.copy_file`` and sync it; ``pause`` is called often, for other threads.

    Raises :exc:`SourceUnreadable` and :exc:`CopyFailed`; then no copy is left, if that is possible.
    """
    try:
        return SegmentCopy(plan, disk, pause).write()
    except BaseException:
        with suppress(OSError):
            disk.perform(DeleteFile(plan.name.copy_file))
        raise
