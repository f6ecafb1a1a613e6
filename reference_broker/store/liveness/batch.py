"""A batch: operations that go to the disk together, and the position they make durable."""

from __future__ import annotations

from dataclasses import dataclass

from reference_broker.store.disk.ports import CreateSpare, DeleteFile, Operation, RenameFile
from reference_broker.store.format.segment import QUARANTINE_SUFFIX
from reference_broker.store.liveness.liveness import SegmentUse


@dataclass(slots=True)
class Batch:
    """Disk operations that are performed together: all in their order, and then hand the batch back
    to ``Log.batch_synced``."""

    operations: list[Operation]
    end: int
    """Every record below this position is on disk when all operations were performed. Acks that
    nobody waits for are written without a sync: then it is the end of the batch before."""
    removed: list[SegmentUse]
    """The segments that the operations delete, or put aside."""
    size_bytes: int = 0
    """Bytes of records that are written."""
    in_place: bool = False
    """Nothing but a file that is there already is written to and synced."""
    ends_rewriting: bool = False
    """The copy of the rewriting that is on its way gets its name in it, or is deleted."""
    spare_missing: bool = False
    """Set by whoever performs the operations: a :class:`CreateSpare` found the disk full."""

    @property
    def makes_spare(self) -> bool:
        """It is to make the spare segment, or a larger one."""
        return any(isinstance(operation, CreateSpare) for operation in self.operations)


def removal(use: SegmentUse) -> Operation:
    """The operation by which a segment goes: it is deleted, or put aside if it is damaged."""
    if use.damaged:
        return RenameFile(use.name.file, use.name.file + QUARANTINE_SUFFIX)
    return DeleteFile(use.name.file)
