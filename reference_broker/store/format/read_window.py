"""Reading one file from front to back, wanted records that lie close together in one read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from reference_broker.errors import ReferenceBrokerError
from reference_broker.store.disk.ports import Disk
from reference_broker.store.format.record import FRAME, FRAME_BYTES

READ_BYTES = 1024 * 1024
"""One read is no longer than this, unless a single record is."""

GAP_BYTES = 64 * 1024
"""Records that begin no further apart than this are read together: reading what lies between
them costs less than another call. Of a record whose length isn't known as much is read."""


class FileEnds(ReferenceBrokerError):
    """The file is shorter than it would have to be."""


class ReadWindow:
    """A file that is read ahead. ``offsets`` are those of the wanted records, in order; ``data`` is
    the part that was read last, from ``start`` of the file on. Every method raises ``OSError`` as
    the disk gives it, and :exc:`FileEnds` where the file ends too early."""

    def __init__(self, disk: Disk, file: str, offsets: Sequence[int]) -> None:
        self._disk = disk
        self.file = file
        self._offsets = offsets
        self.start = 0
        self.data = b""

    def take(self, offset: int, size_bytes: int) -> bytes:
        """That part of the file; what is wanted behind it is read along."""
        at = offset - self.start
        if at < 0 or at + size_bytes > len(self.data):
            self.data = self._read(offset, size_bytes)
            self.start = offset
            at = 0
            if len(self.data) < size_bytes:
                raise FileEnds(f"the file ends before {offset + size_bytes}")
        return self.data[at : at + size_bytes]

    def frame(self, offset: int) -> tuple[int, bytes]:
        """The checksum and the payload of the record there: :meth:`take`, twice, in one go."""
        data = self.data
        at = offset - self.start
        if not 0 <= at <= len(data) - FRAME_BYTES:
            self.take(offset, FRAME_BYTES)
            data = self.data
            at = 0
        length, checksum = FRAME.unpack_from(data, at)
        at += FRAME_BYTES
        if at + length > len(data):
            return checksum, self.take(offset + FRAME_BYTES, length)
        return checksum, data[at : at + length]

    def alone(self, offset: int, size_bytes: int) -> bytes:
        """As :meth:`take`, for what is so long that nothing is read along."""
        data = self._disk.read_range(self.file, offset, size_bytes)
        if len(data) < size_bytes:
            raise FileEnds(f"the file ends before {offset + size_bytes}")
        return data

    def _read(self, offset: int, size_bytes: int) -> bytes:
        ahead = self._ahead(offset)
        if ahead > size_bytes:
            try:
                return self._disk.read_range(self.file, offset, ahead)
            except FileNotFoundError:
                raise
            except OSError:
                # One bad sector need not take its neighbours along.
                return self._disk.read_range(self.file, offset, size_bytes)
        return self._disk.read_range(self.file, offset, size_bytes)

    def _ahead(self, offset: int) -> int:
        """The number of bytes to read from ``offset`` on."""
        last = offset
        for index in range(bisect_right(self._offsets, offset), len(self._offsets)):
            following = self._offsets[index]
            if following - last > GAP_BYTES or following - offset >= READ_BYTES - GAP_BYTES:
                break
            last = following
        return last + GAP_BYTES - offset
