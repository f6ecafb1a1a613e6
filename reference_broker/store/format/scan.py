"""Scanning a segment's bytes: its sound records, and the gaps where nothing can be read.

Zeros to the end of the file are the end. Anything else that isn't a record is a gap, and the walk
goes on at the next record behind it: whether a gap is a torn tail or corruption is decided by the
reader (:mod:`reference_broker.store.start.recovery`), who knows how far the disk had promised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reference_broker.errors import StoreError
from reference_broker.store.format.checksum import Checksum, checksum_of
from reference_broker.store.format.extents import Extent
from reference_broker.store.format.record import (
    ENDS,
    FRAME,
    FRAME_BYTES,
    SYNCED_BYTES,
    RecordType,
    decode_extent,
)
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName

RESYNC_BUDGET_BYTES = 1024 * 1024 * 1024
"""Bytes that may be checksummed in search of the record behind a gap. They can be made up so that
each of them looks like the start of a long record; then only SYNCED records are looked for, which
are short, and which are the ones that decide about torn or corrupt."""

_KNOWN = frozenset(RecordType)
_CANDIDATE = re.compile(rb"(?s)(?=.{8}[\x01-\x0f])")
_SYNCED_LENGTH = SYNCED_BYTES - FRAME_BYTES


class Found(NamedTuple):
    """A sound record. ``payload`` starts with the type byte."""

    position: int
    payload: memoryview

    @property
    def end(self) -> int:
        return self.position + FRAME_BYTES + len(self.payload)


class Gap(NamedTuple):
    """Bytes from one log position to another (not included) that can't be read."""

    start: int
    end: int


class SegmentScan:
    """One pass over one segment, up to its SEALED or CLOSED. Iterate it once. Positions are the
    log's for records of a plain segment and for those in extents; for the other records of a
    rewritten one they are its base plus their place in the file."""

    def __init__(self, name: SegmentName, data: bytes, checksum: Checksum) -> None:
        self._zero = name.base
        """The position that the first byte of ``data`` would have."""
        self._seed = name.seed
        self._data = data
        self._view = memoryview(data)
        self._checksum = checksum
        self._start = HEADER_BYTES
        self._end = len(data)
        self._written = len(data.rstrip(b"\0"))
        self._budget = RESYNC_BUDGET_BYTES
        self.offset = HEADER_BYTES
        """The end of the part that was scanned, from the start of the file."""

    def __iter__(self) -> Iterator[Found | Gap]:
        offset = self._start
        while offset < self._end:
            length = self._sound_length(offset)
            if length:
                position = self._zero + offset
                start = offset + FRAME_BYTES
                offset = start + length
                kind = self._data[start]
                if kind not in _KNOWN:
                    raise StoreError(
                        f"record type {kind} at position {position} is unknown: "
                        "the folder was written by a newer version"
                    )
                found = Found(position, self._view[start:offset])
                self.offset = offset
                yield found
                if kind in ENDS:
                    return
                if kind == RecordType.EXTENT:
                    extent = decode_extent(found.payload)
                    yield from _ExtentScan(self, extent, offset)
                    self.offset = offset = min(offset + extent.size_bytes, self._end)
            elif offset >= self._written:
                return
            else:
                resumed = self._next_sound(offset + 1)
                yield Gap(self._zero + offset, self._zero + resumed)
                self.offset = offset = resumed

    def _sound_length(self, offset: int) -> int:
        """The payload length of the record at ``offset``; 0 where there is none."""
        if offset + FRAME_BYTES >= self._end:
            return 0
        length, checksum = FRAME.unpack_from(self._data, offset)
        start = offset + FRAME_BYTES
        if not length or start + length > self._end:
            return 0
        seed = self._seed ^ ((self._zero + offset) & 0xFFFFFFFF)
        if self._checksum(self._view[start : start + length], seed) != checksum:
            return 0
        return int(length)

    def _next_sound(self, offset: int) -> int:
        """The offset of the next sound record, or of the end of the content."""
        search_end = min(self._written + FRAME_BYTES + 1, self._end)
        for match in _CANDIDATE.finditer(self._data, offset, search_end):
            candidate = match.start()
            (length,) = FRAME.unpack_from(self._data, candidate)[:1]
            if self._budget <= 0 and length != _SYNCED_LENGTH:
                continue
            if length <= self._end - candidate - FRAME_BYTES:
                self._budget -= length
                if self._sound_length(candidate):
                    return candidate
        return max(self._written, offset)


class _ExtentScan(SegmentScan):
    """The copied records behind an EXTENT: they are verified as in the segment that they were
    written to, and there is nothing else between them."""

    def __init__(self, whole: SegmentScan, extent: Extent, offset: int) -> None:
        self._zero = extent.position - offset
        self._seed = extent.seed
        self._data = whole._data
        self._view = whole._view
        self._checksum = checksum_of(extent.checksum)
        self._start = offset
        self._end = self._written = min(offset + extent.size_bytes, len(whole._data))
        self._budget = whole._budget
