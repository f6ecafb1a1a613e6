"""PUBLISH records of messages for a single queue, one after another: the hot path of the log.

    entry (queue, sequence 41)   contents c, d, e, ...   ->   records of (queue, 41) (queue, 42) ...

A run stops before the first message that has no room, or a body so large that it is not copied.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.store.disk.ports import Piece
from reference_broker.store.format.footer import ENTRY_ROOM
from reference_broker.store.format.record import FRAME, FRAME_BYTES, PUBLISH_ONE, RecordType

BODY_PIECE_BYTES = 64 * 1024
"""A larger body is written uncopied; a smaller one is copied next to its head, which is cheaper."""

_MASK = 0xFFFFFFFF
_PUBLISH = int(RecordType.PUBLISH)
_pack = PUBLISH_ONE.pack
# The same in three parts: what stands before the sequence, and what stands behind it.
_pack_before = struct.Struct(">BIHIIQI").pack
_pack_sequence = struct.Struct(">Q").pack
_pack_behind = struct.Struct(">QB").pack
_pack_frame = FRAME.pack


def publish_payload(content: Content, entry: tuple[int, int, int, int], epoch: int) -> bytes:
    """The payload of a PUBLISH with one entry."""
    route = content.route
    header = content.header
    body = content.body
    queue_id, sequence, expires_at_ms, priority = entry
    head = _pack(
        _PUBLISH,
        1,
        len(route),
        len(header),
        len(body),
        queue_id,
        epoch,
        sequence,
        expires_at_ms,
        priority,
    )
    return b"".join((head, route, header, body))


class Place(NamedTuple):
    """The end of a segment in use: records are appended to ``pieces``, from the log position
    ``position`` on. Together with what each takes in the footer they may reach to ``limit``."""

    pieces: list[Piece]
    position: int
    limit: int
    epoch: int
    seed: int
    checksum: Callable[[bytes, int], int]


class Appended(NamedTuple):
    """The number of messages that there was room for, and the bytes of their records."""

    messages: int
    size_bytes: int


def append_run(place: Place, entry: Entry, contents: Sequence[Content]) -> Appended:
    """Append a record for each of ``contents``, as far as there is room, and set the position and
    size of each. ``entry`` is the first one's; each following one has the next sequence. The books
    of the log and of its segment are the caller's to keep."""
    pieces, position, limit, epoch, seed, checksum = place
    queue_id, first, expires_at_ms, priority = entry
    sequence = first
    behind = _pack_behind(expires_at_ms, priority)
    shape: tuple[bytes, int, int] | None = None
    before = after = b""
    stored = 0
    for content in contents:
        header, body = content.header, content.body
        # Messages of one run mostly differ in the sequence and their octets only.
        if shape != (found := (content.route, len(header), len(body))):
            route, header_bytes, body_bytes = shape = found
            if body_bytes > BODY_PIECE_BYTES:
                break
            lengths = len(route), header_bytes, body_bytes
            before = _pack_before(_PUBLISH, 1, *lengths, queue_id, epoch)
            after = behind + route
            stored = FRAME_BYTES + PUBLISH_ONE.size + sum(lengths)
        if position + stored > limit:
            break
        payload = b"".join((before, _pack_sequence(sequence), after, header, body))
        content.position = position
        content.stored = stored
        pieces += (
            _pack_frame(stored - FRAME_BYTES, checksum(payload, seed ^ (position & _MASK))),
            payload,
        )
        position += stored
        limit -= ENTRY_ROOM
        sequence += 1
    return Appended(sequence - first, position - place.position)
