"""PUBLISH records of messages for a single queue, one after another: the hot path of the log.

    entry (queue, sequence 41)   contents c, d, e, ...   ->   records of (queue, 41) (queue, 42) ...

A run stops before the first message that has no room, or a body so large that it is not copied.
"""

from __future__ import annotations

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
    for content in contents:
        if len(content.body) > BODY_PIECE_BYTES:
            break
        payload = publish_payload(content, (queue_id, sequence, expires_at_ms, priority), epoch)
        length = len(payload)
        stored = FRAME_BYTES + length
        if position + stored > limit:
            break
        content.position = position
        content.stored = stored
        pieces += (_pack_frame(length, checksum(payload, seed ^ (position & _MASK))), payload)
        position += stored
        limit -= ENTRY_ROOM
        sequence += 1
    return Appended(sequence - first, position - place.position)
