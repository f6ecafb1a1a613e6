"""Reading ahead: records that lie close together cost one read, and each is read as it is."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store.disk.ports import CreateFile, Write
from reference_broker.store.format.read_window import GAP_BYTES, READ_BYTES, FileEnds, ReadWindow
from reference_broker.store.format.record import FRAME

FILE = "a file"
SIZE = READ_BYTES + 10 * GAP_BYTES


class CountingDisk(SimulatedDisk):
    """Notes each read; ``bad`` is an offset that no read may cover."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[int, int]] = []
        self.bad = -1
        self.perform(CreateFile(FILE, SIZE))

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        self.reads.append((offset, size_bytes))
        if offset <= self.bad < offset + size_bytes:
            raise OSError(errno.EIO, "bad sector")
        return super().read_range(file, offset, size_bytes)


@pytest.fixture
def disk() -> CountingDisk:
    return CountingDisk()


def reads_of(disk: CountingDisk, offsets: Sequence[int], size_bytes: int = 10) -> int:
    """Take all of ``offsets``; the number of reads that took."""
    window = ReadWindow(disk, FILE, offsets)
    for offset in offsets:
        assert len(window.take(offset, size_bytes)) == size_bytes
    return len(disk.reads)


def test_records_close_together_are_one_read(disk: CountingDisk) -> None:
    assert reads_of(disk, [64, 1000, 1000 + GAP_BYTES]) == 1


def test_a_gap_that_is_too_wide_is_not_read(disk: CountingDisk) -> None:
    assert reads_of(disk, [64, 65 + 2 * GAP_BYTES]) == 2
    assert sum(size for _, size in disk.reads) <= 2 * GAP_BYTES


def test_no_read_is_longer_than_the_bound(disk: CountingDisk) -> None:
    reads_of(disk, range(0, SIZE - 10, GAP_BYTES // 2))
    assert len(disk.reads) == 2
    assert max(size for _, size in disk.reads) <= READ_BYTES


def test_a_record_longer_than_the_bound_is_read_at_once(disk: CountingDisk) -> None:
    assert reads_of(disk, [64], READ_BYTES + 5) == 1


def test_a_frame_is_its_checksum_and_its_payload(disk: CountingDisk) -> None:
    payload = bytes(range(100))
    for offset in (40, 500_000):
        disk.perform(Write(FILE, offset, [FRAME.pack(len(payload), 7), payload]))
    window = ReadWindow(disk, FILE, [40, 500_000])
    assert window.frame(40) == window.frame(40) == (7, payload)
    assert window.frame(500_000) == (7, payload)
    assert len(disk.reads) == 2
    assert window.frame(40) == (7, payload), "the order of the queue is not always that of the log"


def test_a_frame_that_goes_on_behind_the_window_is_read_to_its_end(disk: CountingDisk) -> None:
    payload = bytes(range(250)) * (2 * GAP_BYTES // 250)
    disk.perform(Write(FILE, 40, [FRAME.pack(len(payload), 7), payload]))
    assert ReadWindow(disk, FILE, [40]).frame(40) == (7, payload)


def test_a_bad_sector_does_not_take_its_neighbours_along(disk: CountingDisk) -> None:
    disk.bad = 2000
    window = ReadWindow(disk, FILE, [64, 1995, 3000])
    assert window.take(64, 10) == bytes(10)
    with pytest.raises(OSError, match="bad sector"):
        window.take(1995, 10)
    assert window.take(3000, 10) == bytes(10)


@pytest.mark.parametrize("alone", [False, True])
def test_a_file_that_is_too_short_is_told_from_a_short_read(
    disk: CountingDisk, alone: bool
) -> None:
    window = ReadWindow(disk, FILE, [SIZE - 5])
    read = window.alone if alone else window.take
    assert read(SIZE - 5, 5) == bytes(5)
    with pytest.raises(FileEnds, match=str(SIZE + 1)):
        read(SIZE - 5, 6)


def test_a_file_that_is_gone_is_not_read_again(disk: CountingDisk) -> None:
    with pytest.raises(FileNotFoundError):
        ReadWindow(disk, "no file", [64]).take(64, 10)
    assert len(disk.reads) == 1
