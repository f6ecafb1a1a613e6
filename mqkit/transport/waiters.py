"""Threads that wait until something changes, under a lock of their owner's."""

from __future__ import annotations

import threading


class Waiters:
    """Called under the owner's lock, but for the waiting.

    ``threading.Condition`` takes its lock in code of its own, in which Ctrl-C can come between the
    taking and the giving back: then nobody ever has it again. Here a thread waits for a lock that
    is nobody else's.
    """

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: list[threading.Lock] = []

    @property
    def is_empty(self) -> bool:
        """True if nobody waits."""
        return not self._places

    def place(self) -> threading.Lock:
        """Acquire it, after the owner's lock is released, to wait for :meth:`wake`."""
        place = threading.Lock()
        place.acquire()
        self._places.append(place)
        return place

    def leave(self, place: threading.Lock) -> None:
        """The thread of ``place`` waits no more."""
        if place in self._places:
            self._places.remove(place)

    def wake(self) -> None:
        """Let all who wait now look again."""
        places, self._places = self._places, []
        for place in places:
            place.release()
