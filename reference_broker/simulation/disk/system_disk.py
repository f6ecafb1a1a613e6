"""The simulated disk with the runtime's own data folder before it."""

from __future__ import annotations

from pathlib import Path
from random import Random

from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.simulation.disk.fake_system import FakeSystem
from reference_broker.simulation.disk.power import Folder, PoweredDisk

DIRECTORY = Path("/simulated")
"""Nothing of the real machine's is ever looked for there."""


class SystemDisk(PoweredDisk):
    """A process has it through a :class:`~reference_broker.runtime.disk.data_folder.DataFolder`,
    which makes calls of a :class:`FakeSystem`. What would fail an operation fails a call.
    Whoever looks at the disk from outside does so as ever."""

    def __init__(self, random: Random, calls_random: Random, short_chance: float = 0.0) -> None:
        super().__init__(random)
        self.system = FakeSystem(self, calls_random, short_chance)

    def open_folder(self) -> Folder:
        return DataFolder(DIRECTORY, self.system)

    def process_ended(self) -> None:
        self.system.process_ended()
