"""Stamps of octets that go from one hand to the next: each octet keeps its own, however often what
it is in is cut and joined."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Part(NamedTuple):
    """So many octets with one stamp (:meth:`SimulatedClock.stamp`)."""

    size: int
    stamp: int


class Stamps:
    """The stamps of octets that wait, oldest first."""

    def __init__(self) -> None:
        self._parts: deque[Part] = deque()

    def put(self, part: Part) -> None:
        """Stamp the octets that come behind all that wait."""
        self._parts.append(part)

    def take(self, size: int) -> list[Part]:
        """Take the stamps of the next ``size`` octets. Raises :exc:`IndexError` where not so many
        were put."""
        taken = []
        while size:
            part = self._parts.popleft()
            if part.size > size:
                self._parts.appendleft(part._replace(size=part.size - size))
                part = part._replace(size=size)
            taken.append(part)
            size -= part.size
        return taken
