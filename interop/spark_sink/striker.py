"""The blow at tasks that wait for it, when the sink has published all that they have given it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from interop.chaos.broker import Broker
from interop.spark_sink import queues
from interop.spark_sink.driver import Driver
from interop.spark_sink.faults import go, pauses, pids_of_starts, starts_of
from interop.spark_sink.plan import Kind
from interop.spark_sink.writers import writers

QUIET_S = 1.0
"""A queue that does not grow for so long has got all that was given to the sink; on a machine with
much else to do not even then, so a task is struck until it is begun again."""


class Striker:
    """Of one round; ``queue`` is where its rows come. Call :meth:`look` again and again."""

    def __init__(
        self, kind: Kind, driver: Driver, broker: Broker, queue: str, folder: Path
    ) -> None:
        self.kills = 0
        self._kind = kind
        self._driver = driver
        self._broker = broker
        self._queue = queue
        self._folder = folder
        self._depth = 0
        self._since_s = time.monotonic()

    def look(self) -> None:
        """Have those that wait go on, each after its fault."""
        waiting = pauses(self._folder)
        if not waiting or not self._is_quiet():
            return
        for name in waiting:
            if self._kind is not Kind.KILLED_WORKER or self._is_begun_again(name):
                go(self._folder, name)
            else:
                self._kill_writers()

    def _is_quiet(self) -> bool:
        depth = queues.depth(self._broker.url, self._queue)
        if depth != self._depth:
            self._depth = depth
            self._since_s = time.monotonic()
        return depth > 0 and time.monotonic() - self._since_s >= QUIET_S

    def _is_begun_again(self, name: str) -> bool:
        return len(starts_of(self._folder, int(name.partition("-")[0]))) > 1

    def _kill_writers(self) -> None:
        """SIGKILL to the Python workers that publish; the one behind a waiting task is one."""
        workers = set(self._driver.pids()) - pids_of_starts(self._folder)
        for pid in writers(sorted(workers), self._broker.address[1]):
            os.kill(pid, signal.SIGKILL)
            self.kills += 1
        self._since_s = time.monotonic()
