"""The thread that a blocking connection has to itself, and the process that it lives in.

Both are asked for at each call: the thread because what waits for it must not be the thread itself,
the process because a forked child has the objects, but not the thread.

A forked child closes its copies of the descriptors at once: the broker would not see the end of a
connection that its parent closes while a child has it open, too.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from weakref import WeakSet

from mqkit.errors import Closed, ConfigurationError


class ConnectionThread(ABC):
    """A subclass says in :meth:`_run` what the thread does, and starts ``_thread``."""

    def __init__(self, name: str) -> None:
        self._process_id = os.getpid()
        self._own_ident: int | None = None
        """Only while the thread runs: the system gives the idents of ended threads to new ones."""
        self._thread = threading.Thread(name=name, target=self._run_as_own, daemon=True)

    @abstractmethod
    def _run(self) -> None:
        """All that the thread does. It must not raise."""

    @abstractmethod
    def close_copies(self) -> None:
        """Close the descriptors, in a forked child, and nothing else: not a word to the broker, no
        change to what the parent's selector watches. No lock may be taken, for a thread that is not
        here may have it. Must not raise."""

    def is_current(self) -> bool:
        """True on the connection's own thread, so in its callbacks."""
        return threading.get_ident() == self._own_ident

    def join(self, timeout_s: float) -> None:
        """Wait for the thread's end, unless this is the thread itself."""
        if not self.is_current():
            self._thread.join(timeout_s)

    def check_may_wait(self, what: str) -> None:
        """Raise :exc:`~mqkit.errors.ConfigurationError` on the connection's own thread."""
        if self.is_current():
            raise ConfigurationError(
                f"{what} was called from a callback of this connection, which would wait for"
                " itself: settle there, and do the rest on another thread"
            )

    def is_in_own_process(self) -> bool:
        """False in a forked child."""
        return os.getpid() == self._process_id

    def check_process(self) -> None:
        """Raise :exc:`~mqkit.errors.Closed` in a forked child."""
        if not self.is_in_own_process():
            raise Closed(
                f"the connection belongs to process {self._process_id}: open another one here"
            )

    def _run_as_own(self) -> None:
        self._own_ident = threading.get_ident()
        _running_here.add(self)
        try:
            self._run()
        finally:
            self._own_ident = None


_running_here: WeakSet[ConnectionThread] = WeakSet()
"""Those of this process that have begun."""


def _close_copies() -> None:
    for thread in tuple(_running_here):
        thread.close_copies()
    _running_here.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_close_copies)
