"""The operation by which a segment goes."""

from __future__ import annotations

import pytest

from reference_broker.store.disk.ports import DeleteFile, Operation, RenameFile
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.batch import removal
from reference_broker.store.liveness.liveness import SegmentUse

NAME = SegmentName(4096, 2, 1)


@pytest.mark.parametrize(
    ("damaged", "operation"),
    [(False, DeleteFile(NAME.file)), (True, RenameFile(NAME.file, NAME.file + ".quarantine"))],
)
def test_a_damaged_segment_is_put_aside_and_never_deleted(
    damaged: bool, operation: Operation
) -> None:
    use = SegmentUse(NAME, 1000)
    use.damaged = damaged
    assert removal(use) == operation
