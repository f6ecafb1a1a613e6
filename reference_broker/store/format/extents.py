"""The place of a record in a file: of a plain segment, or in an extent that a rewriting copied.

A rewritten segment holds *extents*: records that followed each other, copied as they were, so that
their checksums still hold. A record keeps its log position; only its place in the file is new.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import NamedTuple

from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.segment import SegmentName


class Place(NamedTuple):
    """The place of the record at a log position, and its checksum, which starts from ``seed`` XOR
    the low 32 bits of the position."""

    file: str
    offset: int
    seed: int
    checksum: ChecksumKind


class Extent(NamedTuple):
    """Consecutive records out of the plain segment that was written as (base, epoch)."""

    base: int
    epoch: int
    checksum: ChecksumKind
    position: int
    """Log position of the first record."""
    size_bytes: int

    @property
    def seed(self) -> int:
        return SegmentName(self.base, self.epoch).seed


class Origin(NamedTuple):
    """The plain segment that an extent's records were written to."""

    base: int
    epoch: int
    checksum: ChecksumKind


class ExtentTable:
    """The extents of one rewritten segment, in order of position: 14 bytes each."""

    __slots__ = ("_seeds", "offsets", "origins", "positions", "which")

    def __init__(self) -> None:
        self.positions = array("Q")
        """Log position of each extent's first record."""
        self.offsets = array("I")
        """Offset of each extent's bytes in the file."""
        self.which = array("H")
        """Index in ``origins`` of the segment that each extent comes from."""
        self.origins: list[Origin] = []
        self._seeds: list[int] = []

    def __len__(self) -> int:
        return len(self.positions)

    def add(self, extent: Extent, offset: int) -> None:
        """The bytes of ``extent``, which lies behind all others, are at ``offset``."""
        origin = Origin(extent.base, extent.epoch, extent.checksum)
        if not self.origins or self.origins[-1] != origin:
            self.add_origin(origin)
        self.positions.append(extent.position)
        self.offsets.append(offset)
        self.which.append(len(self.origins) - 1)

    def add_origin(self, origin: Origin) -> None:
        """Add a segment to ``origins``; for whoever fills the columns directly."""
        self.origins.append(origin)
        self._seeds.append(SegmentName(origin.base, origin.epoch).seed)

    def place(self, position: int, file: str) -> Place:
        """The place in ``file`` of the record at ``position``. Raises ``KeyError`` when it lies
        below every extent; a position that no record was copied from leads to bytes that fail."""
        index = bisect_right(self.positions, position) - 1
        if index < 0:
            raise KeyError(position)
        which = self.which[index]
        offset = self.offsets[index] + position - self.positions[index]
        return Place(file, offset, self._seeds[which], self.origins[which].checksum)

    def origin_at(self, position: int) -> Origin:
        """The plain segment that the record at ``position`` was written to."""
        index = bisect_right(self.positions, position) - 1
        if index < 0:
            raise KeyError(position)
        return self.origins[self.which[index]]
