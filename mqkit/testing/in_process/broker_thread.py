"""The broker's thread: one a process, for starting takes longer than a test.

It is a daemon, and all that it has is in memory: a test run that is killed leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import ClassVar, TypeVar

from mqkit.testing.in_process.server import TestedServer
from reference_broker.core.broker import Broker

ResultT = TypeVar("ResultT")

STEP_TIMEOUT_S = 30.0
"""The broker's turns take milliseconds: one that is not done after this will never be."""


class BrokerThread:
    """A server that runs on a thread. Its methods are for every other thread, and block."""

    _running: ClassVar[BrokerThread | None] = None
    _lock: ClassVar[Lock] = Lock()

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.server = TestedServer()
        """For steps on its thread, see :meth:`run`."""
        self._end = asyncio.Event()
        ready: Future[int] = Future()
        self._thread = Thread(target=self._main, args=(ready,), name="mqkit broker", daemon=True)
        self._thread.start()
        self.port = ready.result(STEP_TIMEOUT_S)
        """The port on 127.0.0.1."""

    @classmethod
    def of_process(cls) -> BrokerThread:
        """The one of this process, started if there is none. It runs until :meth:`stop`, or until
        the process ends."""
        with cls._lock:
            if cls._running is None:
                cls._running = cls()
                atexit.register(cls.stop_of_process)
            return cls._running

    @classmethod
    def stop_of_process(cls) -> None:
        """Stop the one of this process, if there is one. Idempotent."""
        with cls._lock:
            running, cls._running = cls._running, None
            if running is not None:
                running.stop()
                atexit.unregister(cls.stop_of_process)

    def run(self, step: Callable[[], ResultT]) -> ResultT:
        """Have ``step`` called on the thread; returns what it returned, and raises what it
        raised."""
        done: Future[ResultT] = Future()

        def call() -> None:
            try:
                done.set_result(step())
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                done.set_exception(error)

        self._loop.call_soon_threadsafe(call)
        return done.result(STEP_TIMEOUT_S)

    def perform(self, step: Callable[[Broker], ResultT]) -> ResultT:
        """:meth:`run`, as an input of the broker's core."""
        results: list[ResultT] = []
        self.run(lambda: self.server.perform(lambda broker: results.append(step(broker))))
        return results[0]

    def begin(self, step: Callable[[Broker, Callable[[], None]], None]) -> None:
        """:meth:`perform` a step that takes more than one turn: it gets a function, and this
        returns when that has been called."""
        done: Future[None] = Future()
        self.perform(lambda broker: step(broker, lambda: done.set_result(None)))
        done.result(STEP_TIMEOUT_S)

    def after_turns(self, number: int, step: Callable[[], None]) -> None:
        """Have ``step`` called on the thread, after so many turns of its loop."""

        def turn(left: int) -> None:
            if left:
                self._loop.call_soon(turn, left - 1)
            else:
                step()

        self._loop.call_soon_threadsafe(turn, number)

    def stop(self) -> None:
        """Close every connection, and end the thread."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(STEP_TIMEOUT_S)

    def _main(self, ready: Future[int]) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(ready))

    async def _serve(self, ready: Future[int]) -> None:
        try:
            await self.server.start()
        except BaseException as error:  # noqa: BLE001 - it is told where the broker was asked for
            ready.set_exception(error)
            return
        ready.set_result(self.server.amqp_port)
        await self._end.wait()
        await self.server.stop()
