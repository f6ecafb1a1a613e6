"""The facts of a run: kills, and the state of the queue, the result and the spool at its end."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Kill:
    """The newest finished batch of the query at the moment; -1 before the first."""

    target: str
    batch: int


@dataclass(slots=True)
class Facts:
    """``batches`` are the batches of the result that an id stands in, once for each row."""

    messages: int
    mode: str
    kills: list[Kill] = field(default_factory=list)
    batches: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    ready: int = 0
    unacked: int = 0
    files_at_end: list[str] = field(default_factory=list)
    """Data files in the spool when the query had ended, of all batches that stood there."""
    files_after_start: list[str] = field(default_factory=list)
    """Those after the next start."""
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    starts: int = 0

    @property
    def targets(self) -> Counter[str]:
        """Kills by target."""
        return Counter(kill.target for kill in self.kills)
