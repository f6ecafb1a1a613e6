"""A disk that waits, or refuses, when a test says so: for what a thread does meanwhile."""

from __future__ import annotations

from threading import Event

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import Operation
from reference_broker.store.disk.ports import CreateFile, CreateSpare, Sync, Write

WAIT_S = 20
"""Seconds that a sync waits for its gate, at most: a test that forgets to open it fails."""


class GatedDisk(SimulatedDisk):
    """A sync returns only when the ``gate`` is open, and ``reached`` is set while it waits; so it
    is with a write, ``write_gate`` and ``writing``. No file can be created while ``full`` is an
    error."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Event()
        self.gate.set()
        self.reached = Event()
        self.write_gate = Event()
        self.write_gate.set()
        self.writing = Event()
        self.full = 0
        self.shortages: list[int] = []
        """Errors of the next operations, one each; 0 is none."""

    def perform(self, operation: Operation) -> None:
        if self.shortages:
            error = self.shortages.pop(0)
            if error:
                raise OSError(error, "simulated")
        if self.full and isinstance(operation, CreateFile | CreateSpare):
            raise OSError(self.full, "simulated")
        if isinstance(operation, Write):
            self.writing.set()
            assert self.write_gate.wait(WAIT_S)
        if isinstance(operation, Sync):
            self.reached.set()
            assert self.gate.wait(WAIT_S)
        super().perform(operation)
