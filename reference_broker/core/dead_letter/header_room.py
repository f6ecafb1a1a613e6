"""The room that a history has in a content header, and what goes where there is too little: the
oldest deaths.

A content header is one frame, which can't be divided. A message whose header had grown beyond what
a frame carries would end the connection of each client that it is given to.
"""

from __future__ import annotations

from reference_broker.core.message.header_table import value_end

SPARE_PART = 8
"""The part of the room that is free after tables had to go, so that the walk over a thousand tables
to the oldest ones is not made at each hop."""

VALUE_BYTES = 8
COPY_VALUE_BYTES = 5
"""Octets of x-death that are taken for one value. A header table has a bound in values as well, and
nobody counts those of a thousand tables: each has eight in 101 octets at least. With a CC header it
has more, and a routing key takes five octets and its own length."""


def room_of(bytes_left: int, values_left: int, *, has_copies: bool) -> int:
    """Octets that the tables of x-death may have, by both bounds. It may be below zero."""
    return min(bytes_left, values_left * (COPY_VALUE_BYTES if has_copies else VALUE_BYTES))


def newest_that_fit(older: bytes, newest_bytes: int, room: int) -> tuple[bytes, int]:
    """Of the tables ``older``, newest first, those that fit into ``room`` beside the newest of all,
    which takes ``newest_bytes``; and the number of the others."""
    room -= newest_bytes + max(0, room) // SPARE_PART
    kept_bytes = at = dropped = 0
    while at < len(older):
        at = value_end(older, at)
        if at <= room:
            kept_bytes = at
        else:
            dropped += 1
    return older[:kept_bytes], dropped
