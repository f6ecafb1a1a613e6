"""Sockets that are written and read in small portions.

What is sent in portions is larger, with the real ones, than anything that a simulated world can
have much of; and what a socket may bring in a turn is more than its clients ever send.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reference_broker.runtime.net import connection_protocol, paced_output


@contextmanager
def small_portions(portion_bytes: int) -> Iterator[None]:
    """All sockets of this process are written and read in portions of so many bytes, if that is
    less than usual, for the time of the block."""
    written, joined = paced_output.PORTION_BYTES, paced_output.JOINED_BYTES_MAX
    read = connection_protocol.READ_BYTES_PER_TURN
    if portion_bytes < written:
        paced_output.PORTION_BYTES = portion_bytes
        paced_output.JOINED_BYTES_MAX = 2 * portion_bytes
        connection_protocol.READ_BYTES_PER_TURN = portion_bytes
    try:
        yield
    finally:
        paced_output.PORTION_BYTES, paced_output.JOINED_BYTES_MAX = written, joined
        connection_protocol.READ_BYTES_PER_TURN = read
