"""The file of a rewritten segment while it is written."""

from __future__ import annotations

from reference_broker.errors import ReferenceBrokerError
from reference_broker.store.disk.ports import CreateFile, Disk, Operation, Piece, Sync, Write
from reference_broker.store.format.checksum import checksum_of
from reference_broker.store.format.record import FRAME
from reference_broker.store.liveness.rewrite_plan import RewritePlan

WRITE_BYTES = 1024 * 1024
"""Bytes of one write."""

_MASK = 0xFFFFFFFF


class CopyFailed(ReferenceBrokerError):
    """There is no copy: the disk is full, or worse, or a source can't be read just now. The sources
    are untouched: try again later."""


class CopyFile:
    """The new segment's file: written in long pieces, and framed as a segment is."""

    def __init__(self, plan: RewritePlan, disk: Disk) -> None:
        self._disk = disk
        self._file = plan.name.copy_file
        self._base = plan.name.base
        self._seed = plan.name.seed
        self._checksum = checksum_of(plan.checksum)
        self._pieces: list[Piece] = []
        self._pieces_at = 0
        self.offset = 0
        """The offset that the next byte gets."""
        self._perform(CreateFile(self._file, 0))

    def put(self, *pieces: Piece) -> None:
        """Raises :exc:`CopyFailed`, as all of them do."""
        self._pieces += pieces
        self.offset += sum(map(len, pieces))
        if self.offset - self._pieces_at >= WRITE_BYTES:
            self._flush()

    def put_record(self, payload: bytes) -> None:
        """A record of the copy's own."""
        seed = self._seed ^ ((self._base + self.offset) & _MASK)
        self.put(FRAME.pack(len(payload), self._checksum(payload, seed)), payload)

    def sync(self) -> None:
        self._flush()
        self._perform(Sync(self._file))

    def _flush(self) -> None:
        if self._pieces:
            self._perform(Write(self._file, self._pieces_at, self._pieces))
        self._pieces = []
        self._pieces_at = self.offset

    def _perform(self, operation: Operation) -> None:
        try:
            self._disk.perform(operation)
        except OSError as error:
            raise CopyFailed(f"{self._file} can't be written: {error}") from error
