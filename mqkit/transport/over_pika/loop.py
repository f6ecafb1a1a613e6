"""pika's I/O loop on a thread of its own: work goes in, and the end of the thread is always told.

The law: every step that is submitted is either run on the thread or reported as failed, and
``on_end`` is called exactly once, whatever the thread ends of - an exception out of pika included.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

from pika.adapters.select_connection import IOLoop

from mqkit.errors import Closed, DeadlineExceeded
from mqkit.transport.connection_thread import ConnectionThread

T = TypeVar("T")

Step = Callable[[], None]
"""Runs on the thread."""

Failed = Callable[[BaseException], Any]
"""Called instead of a step that will never run, on whatever thread finds that out."""


class SocketKeepingLoop(IOLoop):  # type: ignore[misc]
    """pika's own loop, which remembers the sockets it watches, so that they can be shut down.

    pika has no public way to abandon a connection whose peer does not answer; a socket that is
    shut down takes it through its usual path for a lost stream.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sockets: dict[int, None] = {}

    def add_handler(self, fd: int, handler: Callable[[int, int], None], events: int) -> None:
        self._sockets[fd] = None
        super().add_handler(fd, handler, events)

    def remove_handler(self, fd: int) -> None:
        self._sockets.pop(fd, None)
        super().remove_handler(fd)

    def shut_sockets(self) -> None:
        """On the loop's thread only. The other side and pika see the end of the stream."""
        for fd in list(self._sockets):
            try:
                with socket.socket(fileno=os.dup(fd)) as twin:
                    twin.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def close_copies(self) -> None:
        """In a forked child. The numbers stay in use, by nothing: pika closes them once more when
        its objects go, and they might be somebody else's by then."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in self._sockets:
            os.dup2(nothing, fd, inheritable=False)
        os.close(nothing)


class LoopThread(ConnectionThread):
    """Runs ``begin`` and then the loop on a thread, until :meth:`stop` or an exception.

    ``on_end`` gets the exception, or ``None``; it runs on the thread, after the loop's last turn.
    """

    def __init__(self, name: str, on_end: Callable[[BaseException | None], None]) -> None:
        super().__init__(name)
        self.loop = SocketKeepingLoop()
        self._on_end = on_end
        self._lock = threading.Lock()
        self._steps: deque[tuple[Step, Failed]] = deque()
        self._woken = False
        self._ended = False
        self._begin: Step = _nothing

    def start(self, begin: Step) -> None:
        """Start the thread. To be called once."""
        self._begin = begin
        self._thread.start()

    def stop(self) -> None:
        """End the loop after what it is doing. On the loop's thread only."""
        self.loop.stop()

    def close_copies(self) -> None:
        """See :meth:`ConnectionThread.close_copies`."""
        self.loop.close_copies()

    def submit(self, step: Step, failed: Failed) -> None:
        """Run a step on the thread soon, after those submitted before it."""
        self.check_process()
        with self._lock:
            ended = self._ended
            if not ended:
                self._steps.append((step, failed))
                if not self._woken:
                    self._woken = True
                    self.loop.add_callback_threadsafe(self._run_steps)
        if ended:
            failed(Closed("the connection is closed"))

    def wait(self, answer: Future[T], what: str, timeout_s: float) -> T:
        """The answer, on any thread but the loop's own, which would wait for itself."""
        self.check_may_wait(what)
        try:
            return answer.result(timeout_s)
        except DeadlineExceeded:
            raise  # the answer itself; it is a TimeoutError too
        except FutureTimeout:
            raise DeadlineExceeded(f"no answer to {what} within {timeout_s:g} s") from None

    def _run_steps(self) -> None:
        with self._lock:
            self._woken = False
            steps = list(self._steps)
            self._steps.clear()
        for position, (step, failed) in enumerate(steps):
            try:
                step()
            except BaseException as error:
                failed(error)
                for _, later_failed in steps[position + 1 :]:
                    later_failed(error)
                raise

    def _run(self) -> None:
        reason: BaseException | None = None
        try:
            self._begin()
            self.loop.start()
        except BaseException as error:  # noqa: BLE001 - reported by on_end: nobody joins us
            reason = error
        self.loop.shut_sockets()
        self._on_end(reason)
        with self._lock:
            self._ended = True
            steps = list(self._steps)
            self._steps.clear()
        self.loop.close()
        for _, failed in steps:
            failed(Closed("the connection is closed"))


def _nothing() -> None:
    """The first step of a thread that was not given one: nothing."""
