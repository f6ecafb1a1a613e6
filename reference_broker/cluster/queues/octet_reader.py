"""The octets of a message that came over a link, read from their beginning to their end."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

from reference_broker.errors import LinkError


class OctetReader:
    """A place in a payload, which is in one piece or several. What is taken is a copy: a view
    would keep the whole read alive."""

    __slots__ = ("_at", "_next", "_piece", "_pieces")

    def __init__(self, pieces: Sequence[memoryview]) -> None:
        self._pieces = pieces
        self._piece = pieces[0]
        self._next = 1
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """True when everything was taken."""
        while self._at == len(self._piece):
            if self._next == len(self._pieces):
                return True
            self._turn()
        return False

    def take(self, size: int) -> bytes:
        """The next ``size`` octets. Raises :exc:`LinkError` where there are fewer."""
        at = self._at
        end = at + size
        if end <= len(self._piece):
            self._at = end
            return self._piece[at:end].tobytes()
        return self._take_across(size)

    def unpack(self, layout: Struct) -> tuple[Any, ...]:
        """The next fields. Raises :exc:`LinkError` where the message ends within them."""
        at = self._at
        end = at + layout.size
        if end <= len(self._piece):
            self._at = end
            return layout.unpack_from(self._piece, at)
        return layout.unpack(self._take_across(layout.size))

    def _take_across(self, size: int) -> bytes:
        parts: list[memoryview] = []
        left = size
        while left:
            part = self._piece[self._at : self._at + left]
            parts.append(part)
            left -= len(part)
            self._at += len(part)
            if left:
                if self._next == len(self._pieces):
                    raise LinkError(f"a message ends {left} octets too early")
                self._turn()
        return b"".join(parts)

    def _turn(self) -> None:
        self._piece = self._pieces[self._next]
        self._next += 1
        self._at = 0
