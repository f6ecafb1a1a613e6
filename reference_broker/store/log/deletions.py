"""Deletions of segments, in order: files that were replaced, then segments that nothing needs.

They are ordered at the end of each batch, and at each roll: the old segment, which has the acks and
the REMOVED record, is synced by then, and the room of the dead is there before the next segment is
created. So no batch waits for room that its own acks have made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reference_broker.store.disk.ports import Operation, SyncDirectory
from reference_broker.store.format.footer import NOTE_ROOM
from reference_broker.store.format.record import BASE_BYTES, FRAME_BYTES, RecordType, encode_bases
from reference_broker.store.liveness.batch import removal
from reference_broker.store.liveness.liveness import ALL, Liveness, SegmentUse
from reference_broker.store.rewrite.rewriting import Rewriting

_HEAD_ROOM = FRAME_BYTES + len(encode_bases(RecordType.REMOVED, ())) + NOTE_ROOM
REMOVED_ROOM = _HEAD_ROOM + 32 * BASE_BYTES
"""Kept free in each segment, for the REMOVED record that is due when it is full."""


class Deletion(NamedTuple):
    """Segments to delete now. Log a REMOVED of ``bases`` (where there are any), and have it synced
    before ``operations`` are performed. Logging it may end a batch and begin the next one:
    ``removed`` belongs to the batch that has the operations."""

    bases: Sequence[int]
    operations: list[Operation]
    removed: list[SegmentUse]
    """Of these, the ones that no other file has replaced."""


class Deletions:
    """Orders deletions."""

    def __init__(self, liveness: Liveness, rewriting: Rewriting) -> None:
        self._liveness = liveness
        self._rewriting = rewriting

    def take_within(self, room_bytes: int) -> Deletion:
        """As :meth:`take`, but no more than a REMOVED of so many bytes can name."""
        return self.take((room_bytes - _HEAD_ROOM) // BASE_BYTES)

    def take(self, most: int = ALL) -> Deletion:
        """The segments that may be deleted now, so many at most; each is returned once."""
        if not (self._liveness.may_be_dead or self._rewriting.has_replaced):
            return Deletion([], [], [])  # mostly, and it is asked after each batch
        replaced = self._rewriting.take_replaced(most)
        dead = self._liveness.take_dead(most - len(replaced))
        known = self._liveness.segments
        # A base that goes on in another file is not gone.
        bases = [use.base for use in replaced + dead if known.get(use.base, use) is use]
        operations: list[Operation] = []
        # One after the other: a segment whose new file is gone must not be found in its old one.
        for deletion in (replaced, dead):
            if deletion:
                operations += [*map(removal, deletion), SyncDirectory()]
        return Deletion(bases, operations, dead)
