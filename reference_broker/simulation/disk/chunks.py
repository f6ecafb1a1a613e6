"""A log whose bodies stand in small chunks.

The size of a chunk is a part of the log's format, so no broker has a setting for it. With the real
one a body of several chunks is larger than anything that a simulated world can have much of.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reference_broker.store.format import record
from reference_broker.store.log import publish_run


@contextmanager
def small_chunks(chunk_bytes: int) -> Iterator[None]:
    """All logs of this process have chunks of so many bytes, for the time of the block."""
    usual_bytes, piece_bytes = record.CHUNK_BYTES, publish_run.BODY_PIECE_BYTES
    record.CHUNK_BYTES = chunk_bytes
    publish_run.BODY_PIECE_BYTES = min(piece_bytes, chunk_bytes)
    try:
        yield
    finally:
        record.CHUNK_BYTES, publish_run.BODY_PIECE_BYTES = usual_bytes, piece_bytes
