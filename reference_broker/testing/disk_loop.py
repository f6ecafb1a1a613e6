"""An event loop for a disk thread, in which nothing happens until a test says so."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.runtime.disk.disk import DiskThread
from reference_broker.runtime.disk.log_writer import DiskState
from reference_broker.runtime.disk.loop_syncs import LoopSyncs
from reference_broker.store import Disk, Log
from reference_broker.testing.lone_log import LiveContents

WAIT_S = 20
"""Seconds that :meth:`DiskLoop.run_one` waits for the thread, at most."""


class DiskLoop:
    """Makes a disk thread over ``log`` and ``disk``. Its callbacks wait in ``calls`` until they are
    run, what it tells is in ``events``, and its clock stands still at ``now_s``. Without
    ``takes_syncs`` no batch is performed on the loop. Close the ``thread`` at the end."""

    def __init__(self, log: Log, disk: Disk, *, takes_syncs: bool = False) -> None:
        self.calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.log = log
        self.events: list[object] = []
        self.spares: list[bool] = []
        """True, for each time that one was to be made, where one is wanted that has no room."""
        self.live = LiveContents()
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.now_s = 0.0
        self.loop_syncs = LoopSyncs(lambda: self.now_s)
        if not takes_syncs:
            self.loop_syncs.took(self.now_s - 1)  # a slow one: the clock stands still
        log.attach(self.live)
        self.thread = DiskThread(
            log,
            disk,
            self.calls.put,
            self.call_later,
            self.loop_syncs,
            on_synced=self.events.append,
            on_failed=self.events.append,
            on_full=lambda: self.events.append("full"),
            on_spare=lambda: self.spares.append(log.spare_missing),
        )

    def publish(self, sequence: int, size: int = 10) -> None:
        """Log a message of queue 7."""
        content = self.live[sequence] = Content(b"", b"", bytes(size))
        self.log.publish([Entry(7, sequence)], content)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> None:
        self.timers.append((seconds, callback))

    def ack(self, sequence: int) -> None:
        """Log its ack."""
        content = self.live.pop(sequence)
        self.log.ack(7, sequence, content.position, content.stored)

    def run_one(self) -> None:
        """Run the next callback; wait for it where there is none."""
        self.calls.get(timeout=WAIT_S)()

    def settle(self) -> None:
        """Run callbacks until no batch is on its way."""
        while self.thread.state is DiskState.WRITING:
            self.run_one()
