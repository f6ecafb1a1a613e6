"""A batch: what goes to the disk in one go, and what may be promised once it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference_broker.store.disk.ports import DeleteFile, Operation, RenameFile
from reference_broker.store.format.segment import QUARANTINE_SUFFIX
from reference_broker.store.liveness.liveness import SegmentUse


@dataclass(slots=True)
class Batch:
    """Perform ``operations`` in order, then hand the batch to ``Log.batch_synced``."""

    operations: Sequence[Operation]
    end: int
    """Every record below this position is on disk when all operations were performed."""
    removed: list[SegmentUse]
    """The segments that the operations delete, or put aside."""
    spare_missing: bool = False
    """Set by whoever performs the operations: a :class:`CreateSpare` found the disk full."""


def removal(use: SegmentUse) -> Operation:
    """A segment that isn't needed is deleted; a damaged one is put aside."""
    if use.damaged:
        return RenameFile(use.name.file, use.name.file + QUARANTINE_SUFFIX)
    return DeleteFile(use.name.file)
