"""The partition of a row: rows of one key have the same, and one relay at a time works on it. Pure.

The number is a part of the stored row, so this function never changes.
"""

from __future__ import annotations

from zlib import crc32

PARTITIONS = 64
"""Enough for a few dozen relays to share; few enough to ask each for work in one statement."""


def partition_of(ordering_key: str | None, message_id: str) -> int:
    """A number below :data:`PARTITIONS`. A row without a key is in any: by its message's id."""
    text = message_id if ordering_key is None else ordering_key
    return crc32(text.encode("utf-8", "surrogatepass")) % PARTITIONS
