"""The part of a synchronous app that belongs to one process: its publisher, made anew in a forked
child, and closed at the end of the program.

A child has its parent's objects, but neither its threads nor a right to its connection, and a lock
that another thread held at the fork stays taken for ever. So a child forgets all of it, and
connects when it first publishes. (The descriptors: :mod:`mqkit.transport.connection_thread`.)
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from weakref import WeakSet

from mqkit.sync.publisher import Publisher


class OwnPublisher:
    """The publisher of the process that asks. ``make`` makes one that is not connected yet."""

    def __init__(self, make: Callable[[], Publisher]) -> None:
        self._make = make
        self.current = make()
        self.is_closed = False
        _all.add(self)

    def open(self) -> None:
        """After :meth:`close`, begin again. Idempotent."""
        if self.is_closed:
            self.current = self._make()
            self.is_closed = False

    def close(self, drain_s: float) -> None:
        """See :meth:`Publisher.close`."""
        self.is_closed = True
        self.current.close(drain_s)

    def close_beside(self) -> None:
        """Close it on a thread of its own: the garbage collector waits for nobody."""
        threading.Thread(target=self.close, args=(0.0,), name="mqkit-sync", daemon=True).start()

    def forget(self) -> None:
        """In a forked child: begin anew; one that is closed stays it."""
        self.current = self._make()
        if self.is_closed:
            self.current.close(0.0)


_all: WeakSet[OwnPublisher] = WeakSet()
"""Those of this process that somebody still has."""


def _forget_all() -> None:
    for publisher in tuple(_all):
        publisher.forget()


def _close_all() -> None:
    for publisher in tuple(_all):
        publisher.close(0.0)


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_forget_all)
