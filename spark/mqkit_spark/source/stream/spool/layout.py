"""The places in a spool folder.

=================  ===========================================================
``spool.json``     the queue that it is the spool of
``history.json``   the newest settled batch, and the counts of all settled ones
``batches/``       a folder for each batch that is not settled
``seen/``          fingerprints of settled batches, as far as the window goes
``over/``          batches on their way out
``owner.lock``     held by the driver's process of the query that runs
``publish.lock``   held while a partition's file gets its name
=================  ===========================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mqkit_spark.source.stream.spool.disk import locked

PUBLISH_WITHIN_S = 120.0
"""A holder needs milliseconds, or seconds on a slow disk; a process that is stopped keeps it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places under ``root``."""

    root: Path

    @property
    def description(self) -> Path:
        return self.root / "spool.json"

    @property
    def history(self) -> Path:
        return self.root / "history.json"

    @property
    def batches(self) -> Path:
        return self.root / "batches"

    @property
    def seen(self) -> Path:
        return self.root / "seen"

    @property
    def over(self) -> Path:
        return self.root / "over"

    @property
    def owner_lock(self) -> Path:
        return self.root / "owner.lock"

    @contextmanager
    def publishing(self, pause: Callable[[float], None] = time.sleep) -> Iterator[None]:
        """Nobody else links a file or settles a batch during the block."""
        what = f"{self.root / 'publish.lock'} was held by another process for too long"
        with locked(self.root / "publish.lock", within_s=PUBLISH_WITHIN_S, what=what, pause=pause):
            yield
