"""The blow at tasks that wait for it, when the sink has published some of their rows."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from interop.chaos.broker import Broker
from interop.spark_sink.driver import Driver
from interop.spark_sink.faults import go, pauses, pids_of_pauses
from interop.spark_sink.plan import Kind
from interop.spark_sink.watch import Watch
from interop.spark_sink.writers import writers


class Striker:
    """Of one round. Call :meth:`look` again and again."""

    def __init__(
        self, kind: Kind, driver: Driver, broker: Broker, watch: Watch, folder: Path
    ) -> None:
        self.kills = 0
        self._kind = kind
        self._driver = driver
        self._broker = broker
        self._watch = watch
        self._folder = folder

    def look(self) -> None:
        """Have those that wait go on to their fault.

        Spark sees that a writer is dead when it has another row for it, so who waits goes on then.
        """
        self._watch.look()
        struck = [
            name
            for name in pauses(self._folder)
            if self._watch.has_come(int(name.partition("-")[0]))
        ]
        if struck and self._kind is Kind.KILLED_WORKER:
            self._kill_writers()
        for name in struck:
            go(self._folder, name)

    def _kill_writers(self) -> None:
        """SIGKILL to all Python workers that have a connection to the broker, the one behind a task
        that waits is one of them; but not to the one that waits, which may have one from when it
        published itself."""
        workers = set(self._driver.pids()) - pids_of_pauses(self._folder)
        for pid in writers(sorted(workers), self._broker.address[1]):
            os.kill(pid, signal.SIGKILL)
            self.kills += 1
