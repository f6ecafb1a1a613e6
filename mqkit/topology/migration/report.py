"""The result of a run, for a person and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mqkit.topology.migration.progress import InDoubt, Progress
from mqkit.topology.migration.steps import Step


class Outcome(StrEnum):
    """The ends of a run."""

    NOTHING = "nothing to do"
    """The queue is as the file says."""
    FINISHED = "finished"
    ABORTED = "aborted"
    """The queue is as it was."""
    STOPPED = "stopped"
    """Something is in the way; the same call goes on."""


@dataclass(frozen=True, slots=True)
class Report:
    """``moved`` counts each move of a message, so a message there and back counts twice. ``why`` is
    what is in the way of a migration that stopped."""

    queue: str
    outcome: Outcome
    step: Step | None = None
    moved: int = 0
    lost: int = 0
    in_doubt: tuple[InDoubt, ...] = ()
    remarks: tuple[str, ...] = ()
    why: str = ""

    @classmethod
    def of(cls, progress: Progress, outcome: Outcome, why: str = "") -> Report:
        """The report of a migration that has come so far."""
        return cls(
            progress.migration.queue,
            outcome,
            progress.step,
            progress.moved,
            progress.lost,
            progress.in_doubt,
            progress.remarks,
            why,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``; the names are stable."""
        return {
            "queue": self.queue,
            "outcome": str(self.outcome),
            "step": None if self.step is None else str(self.step),
            "moved": self.moved,
            "lost": self.lost,
            "in_doubt": [window.to_dict() for window in self.in_doubt],
            "remarks": list(self.remarks),
            "why": self.why,
        }
