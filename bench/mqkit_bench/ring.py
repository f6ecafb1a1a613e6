"""A ring of encoded messages: what a publisher sends again and again, as one piece of memory.

Messages to many queues in turn, or one small among many large ones, are a ring each. A place in the
endless stream is a number of bytes; the ring tells how many whole messages lie before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from mqkit_bench.message import publish_frames

PIECE_BYTES = 1 << 18
"""The bytes offered to one send. A ring is at least as long, so that sends stay few."""


class Ring:
    """The messages in their order, over and over."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        if not messages:
            raise ValueError("a ring has at least one message")
        turns = -(-PIECE_BYTES // sum(map(len, messages)))
        messages = list(messages) * max(1, turns)
        self._ends = list(accumulate(map(len, messages)))
        self._buffer = memoryview(b"".join(messages))

    @classmethod
    def round_robin(cls, queues: Sequence[str], body_bytes: int) -> Ring:
        """A message to each queue in turn."""
        return cls([publish_frames(queue, body_bytes) for queue in queues])

    def bytes_before(self, message: int) -> int:
        """The place in the stream where message number ``message`` (from 0) begins."""
        turns, rest = divmod(message, len(self._ends))
        return turns * len(self._buffer) + (self._ends[rest - 1] if rest else 0)

    def messages_before(self, place: int) -> int:
        """The number of messages that end at or before this byte of the stream."""
        turns, rest = divmod(place, len(self._buffer))
        return turns * len(self._ends) + bisect_right(self._ends, rest)

    def piece(self, place: int, end: int) -> memoryview:
        """The bytes to send from ``place``, before ``end``: not over the ring's own end at once."""
        start = place % len(self._buffer)
        return self._buffer[start : start + min(end - place, PIECE_BYTES)]
