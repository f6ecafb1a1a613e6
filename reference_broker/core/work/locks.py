"""Locks on virtual hosts: while an import declares there, or the virtual host is being deleted,
nobody else declares.

A lock is held over many turns, by work that takes a portion in each. Whoever asks for something
that the lock keeps back is told to wait for its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.core.work.task import tell_each
from reference_broker.core.work.until import NotYet, Until


class Lock:
    """The right to declare in the virtual hosts of these ``names``, of which some may not be there
    yet. Made by :meth:`Locks.take`."""

    __slots__ = ("names", "released")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.released = Until()


class Locks:
    """The locks of one broker, by the names of virtual hosts. Those who waited for a lock are told
    of its end in portions: each of ten thousand channels has a request to be handled again."""

    __slots__ = ("_budget", "_by_name", "_holder_works", "_work")

    def __init__(self, work: Portions, budget: Budget) -> None:
        self._work = work
        self._budget = budget
        self._by_name: dict[str, Lock] = {}
        self._holder_works = False

    def take(self, names: Iterable[str]) -> Lock:
        """Take the right to declare in all of these virtual hosts. Call :meth:`release` in the end,
        whatever became of the work.

        Raises :exc:`NotYet` while somebody else has one of them; then none is taken.
        """
        lock = Lock(tuple(dict.fromkeys(names)))
        for name in lock.names:
            if name in self._by_name:
                raise NotYet(self._by_name[name].released)
        self._by_name.update(dict.fromkeys(lock.names, lock))
        return lock

    @contextmanager
    def holder_works(self) -> Iterator[None]:
        """A portion of the work of whoever holds a lock, which keeps back nothing inside."""
        self._holder_works = True
        try:
            yield
        finally:
            self._holder_works = False

    def require_free(self, name: str) -> None:
        """Raises :exc:`NotYet` for a virtual host in which somebody else has the right to
        declare."""
        if self._by_name and not self._holder_works:
            lock = self._by_name.get(name)
            if lock is not None:
                raise NotYet(lock.released)

    def release(self, lock: Lock) -> None:
        """Give the right back, in an input of the core. Idempotent."""
        if lock.names and self._by_name.get(lock.names[0]) is lock:
            for name in lock.names:
                del self._by_name[name]
            self._work.start(tell_each(lock.released, self._budget), "")
