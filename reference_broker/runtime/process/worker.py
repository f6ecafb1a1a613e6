"""A thread for work that the event loop must not wait for: jobs in, their results back on the loop.

One job at a time, in the order in which they were handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class Jobs(Protocol):
    """Work that the event loop doesn't wait for, one job at a time: a :class:`Worker`, or one in
    virtual time."""

    def submit(
        self, work: Callable[[], Result], done: Callable[[Result | Exception], None]
    ) -> None:
        """Have ``work`` done, and ``done`` called with its result, or with what it raised."""

    def close(self) -> None:
        """Finish the job under way, and drop the others. No ``done`` is called any more.
        Idempotent."""


class Worker:
    """Owns one thread. All methods are for the event loop's thread; ``call_soon_threadsafe`` is how
    the worker gets there."""

    def __init__(
        self, name: str, call_soon_threadsafe: Callable[[Callable[[], None]], object]
    ) -> None:
        self._call_soon_threadsafe = call_soon_threadsafe
        self._jobs: SimpleQueue[Callable[[], Callable[[], None]] | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(
        self, work: Callable[[], Result], done: Callable[[Result | Exception], None]
    ) -> None:
        """Have ``work`` called on the thread, and ``done`` on the loop with what it returned or
        raised. ``work`` may touch nothing that the loop changes. After :meth:`close` nothing is
        done, and nothing is called."""
        if not self._closed:
            self._jobs.put(partial(_attempt, work, done))

    def close(self) -> None:
        """Wait for the job that is under way, drop those that have not begun, end the thread. No
        ``done`` is called any more. Blocks. Idempotent."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None and not self._closed:
            report = job()
            try:
                self._call_soon_threadsafe(partial(self._report, report))
            except RuntimeError:
                return  # The loop is closed: nobody is left to be told.

    def _report(self, report: Callable[[], None]) -> None:
        if not self._closed:
            report()


def _attempt(
    work: Callable[[], Result], done: Callable[[Result | Exception], None]
) -> Callable[[], None]:
    try:
        return partial(done, work())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's to judge
        return partial(done, error)
