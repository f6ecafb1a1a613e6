"""The file of a rewritten segment: long writes, records framed at their place, and failures."""

from __future__ import annotations

import errno

import pytest

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store.disk.ports import CreateFile, Sync, Write
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.record import SEALED_PAYLOAD, RecordType
from reference_broker.store.format.scan import Found, SegmentScan
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName
from reference_broker.store.liveness.rewrite_plan import RewritePlan
from reference_broker.store.rewrite.copy_file import WRITE_BYTES, CopyFailed, CopyFile

KIND = ChecksumKind.CRC32
NAME = SegmentName(5000, 2, 1)
PLAN = RewritePlan(NAME, 9000, [], [], (), 3, 0, 9000, KIND)


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


def test_it_is_written_under_its_other_name_and_synced_last(disk: SimulatedDisk) -> None:
    out = CopyFile(PLAN, disk)
    out.put(b"first", b"second")
    out.put(b"third")
    out.sync()
    file = NAME.copy_file
    assert [type(operation) for operation in disk.performed] == [CreateFile, Write, Sync]
    assert disk.read(file) == b"firstsecondthird"
    assert out.offset == 16


def test_long_content_is_written_in_long_pieces(disk: SimulatedDisk) -> None:
    out = CopyFile(PLAN, disk)
    for _ in range(10):
        out.put(bytes(WRITE_BYTES // 4))
    out.sync()
    writes = [each for each in disk.performed if isinstance(each, Write)]
    assert [each.offset for each in writes] == [0, WRITE_BYTES, 2 * WRITE_BYTES]
    assert disk.size(NAME.copy_file) == out.offset == 10 * (WRITE_BYTES // 4)


def test_its_own_records_are_those_of_a_segment_at_their_place(disk: SimulatedDisk) -> None:
    out = CopyFile(PLAN, disk)
    out.put(bytes(HEADER_BYTES))
    out.put_record(bytes([RecordType.ACK, 0, 0, 0, 0]))
    behind = out.offset
    out.put_record(SEALED_PAYLOAD)
    out.sync()
    found = list(SegmentScan(NAME, disk.read(NAME.copy_file), checksum_of(KIND)))
    assert all(isinstance(item, Found) for item in found)
    positions = [item.position for item in found if isinstance(item, Found)]
    assert positions == [NAME.base + HEADER_BYTES, NAME.base + behind]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_any_failure_of_the_disk_is_a_failed_copy(
    disk: SimulatedDisk, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform, performed = disk.perform, []

    def fail(operation: CreateFile | Write | Sync) -> None:
        performed.append(operation)
        if len(performed) == failing:
            raise OSError(errno.ENOSPC, "no room")
        perform(operation)

    monkeypatch.setattr(disk, "perform", fail)
    with pytest.raises(CopyFailed, match=r"\.copy can't be written: .*no room"):
        out = CopyFile(PLAN, disk)
        out.put(b"data")
        out.sync()
    assert len(performed) == failing
