"""Rows as the octets of their publishes, in a file: what raw sockets write as it is."""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from mqkit.message import Message, Properties
from mqkit.transport.native.encoding import append_publishes
from mqkit_bench.message import FRAME_MAX_BYTES
from mqkit_bench.ring import PIECE_BYTES

CHANNEL = 1
ALL = 2**62
"""Octets that no batch of rows has: all of a batch is encoded at once."""


class FrameFile:
    """The supply of a :class:`~mqkit_bench.filler.Filler`, mapped from a file, with the place where
    each message ends beside it."""

    def __init__(self, path: Path) -> None:
        self._ends = array("Q")
        self._ends.frombytes(_ends_of(path).read_bytes())
        with path.open("rb") as file:
            self._buffer = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))

    @property
    def messages(self) -> int:
        return len(self._ends)

    def bytes_before(self, message: int) -> int:
        """The place where message number ``message`` (from 0) begins."""
        return self._ends[message - 1] if message else 0

    def messages_before(self, place: int) -> int:
        """The number of messages that end at or before this place."""
        return bisect_right(self._ends, place)

    def piece(self, place: int, end: int) -> memoryview:
        """The octets to send from ``place``, before ``end``."""
        return self._buffer[place : min(end, place + PIECE_BYTES)]


def write_frames(batches: Iterator[Sequence[str]], queue: str, label: str, path: Path) -> int:
    """Encode the bodies as the sink does: persistent, mandatory, over the default exchange, with an
    id of its own each, which begins with ``label``. Returns how many there are."""
    ends, place = array("Q"), 0
    with path.open("wb") as file:
        for bodies in batches:
            messages = [
                Message(
                    "", queue, body.encode(), Properties(message_id=f"{label}/{len(ends) + row}")
                )
                for row, body in enumerate(bodies)
            ]
            for message in messages:
                parts: list[bytes] = []
                _, octets, _ = append_publishes(parts, (message,), 0, CHANNEL, FRAME_MAX_BYTES, ALL)
                file.writelines(parts)
                place += octets
                ends.append(place)
    _ends_of(path).write_bytes(ends.tobytes())
    return len(ends)


def _ends_of(path: Path) -> Path:
    return path.with_suffix(".ends")
