"""A batch: what goes to the disk in one go, and what may be promised once it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference_broker.store.liveness import SegmentUse
from reference_broker.store.ports import Operation


@dataclass(slots=True)
class Batch:
    """Perform ``operations`` in order, then hand the batch to ``Log.batch_synced``."""

    operations: Sequence[Operation]
    end: int
    """Every record below this position is on disk when all operations were performed."""
    removed: list[SegmentUse]
    """The segments that the operations delete, or put aside."""
