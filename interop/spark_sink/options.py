"""The options of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from interop.spark_sink.plan import Kind


@dataclass(frozen=True, slots=True)
class Options:
    """The broker by its name, the fault, the number of rounds, the seed, and a folder for marks and
    logs."""

    broker: str
    kind: Kind
    rounds: int
    seed: int
    folder: Path

    @property
    def windows(self) -> bool:
        """Only the reference broker has message-id windows."""
        return self.broker == "reference"
