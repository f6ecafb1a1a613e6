"""The part of a synchronous app that belongs to one process: its publisher and its caller, made
anew in a forked child with the same middleware around the publisher, and closed at the end of the
program.

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

from mqkit.sync.around import PublishMiddleware
from mqkit.sync.caller import Caller
from mqkit.sync.publisher import Publisher
from mqkit.sync.surrounded import Publishes, SurroundedPublisher


class OwnPublisher:
    """The publisher and caller of the process that asks. ``make`` makes both, on one link that is
    not connected yet."""

    def __init__(self, make: Callable[[], tuple[Publisher, Caller]]) -> None:
        self._make = make
        self._around: tuple[PublishMiddleware, ...] = ()
        self.is_closed = False
        self._begin()
        _all.add(self)

    def open(self) -> None:
        """After :meth:`close`, begin again. Idempotent."""
        if self.is_closed:
            self._begin()
            self.is_closed = False

    def surround(self, middleware: PublishMiddleware) -> None:
        """Have ``middleware`` around each publish from now on, inside of those before it."""
        self._around = (*self._around, middleware)
        self.current = self._surrounded()

    def close(self, drain_s: float) -> None:
        """See :meth:`Publisher.close`."""
        self.is_closed = True
        self._publisher.close(drain_s)

    def close_beside(self) -> None:
        """Close it on a thread of its own: the garbage collector waits for nobody."""
        threading.Thread(target=self.close, args=(0.0,), name="mqkit-sync", daemon=True).start()

    def forget(self) -> None:
        """In a forked child: begin anew; one that is closed stays it."""
        self._begin()
        if self.is_closed:
            self._publisher.close(0.0)

    def _begin(self) -> None:
        self._publisher, self.caller = self._make()
        self.current = self._surrounded()

    def _surrounded(self) -> Publishes:
        if not self._around:
            return self._publisher
        return SurroundedPublisher(self._publisher, self._around, self._publisher.deadline_s)


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
