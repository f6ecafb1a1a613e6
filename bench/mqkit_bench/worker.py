"""A worker: a task in a process of its own, so that a load generator is never the bottleneck.

A task is a function of this package. It gets one end of a pipe, sends what it has to report, and
looks there for what to do next.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

JOIN_TIMEOUT_S = 5.0
REPORT_TIMEOUT_S = 600.0


class WorkerFailed(Exception):
    """The task raised, ended, or reported nothing in time. The message says what."""


class Worker:
    """Runs ``task(pipe, *arguments)``; ended with the block, whatever it does then."""

    def __init__(self, task: Callable[..., None], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")  # no copy of this process, its sockets least
        self._name = task.__name__
        self._pipe, theirs = context.Pipe()
        self._theirs = theirs
        self._process = context.Process(
            target=_run, args=(task, theirs, arguments), name=self._name, daemon=True
        )

    def __enter__(self) -> Worker:
        # Ctrl-C is for this process: with SIGINT blocked the new one never gets it, not even while
        # it starts. One that comes here meanwhile is only late.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._theirs.close()  # so that its end shows as the end of the pipe
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join(JOIN_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()

    def report(self, timeout_s: float = REPORT_TIMEOUT_S) -> Any:
        """The next thing that the task sends. Raises :exc:`WorkerFailed`."""
        if not self._pipe.poll(timeout_s):
            raise WorkerFailed(f"{self._name} reported nothing for {timeout_s:.0f} s")
        try:
            report = self._pipe.recv()
        except EOFError:
            raise WorkerFailed(f"{self._name} ended without a report") from None
        if isinstance(report, WorkerFailed):
            raise report
        return report

    def tell(self, word: Any) -> None:
        """Send the task something; what it makes of that, it says itself."""
        self._pipe.send(word)


def _run(task: Callable[..., None], pipe: Connection, arguments: tuple[Any, ...]) -> None:
    try:
        task(pipe, *arguments)
    except Exception as error:  # noqa: BLE001 - it is raised again where the report is awaited
        pipe.send(WorkerFailed(f"{task.__name__}: {type(error).__name__}: {error}"))
