"""The spare segment: the next one, made ahead, so that a full disk shows before it hurts.

While there is no room for another spare, publishers are blocked, and a whole empty segment is still
there for acks. The first segment of a log was one, too, and may be smaller than the others.
"""

from __future__ import annotations

from enum import Enum, auto

from reference_broker.store.ports import CreateFile, Operation, RenameFile
from reference_broker.store.segment import SPARE_FILE


class SpareState(Enum):
    """What is known about the spare file."""

    WANTED = auto()
    """There is none; the next batch is to make it."""
    ASKED = auto()
    """A batch that makes it is on its way."""
    READY = auto()
    MISSING = auto()
    """There was no room for it. Nothing is done until somebody says to try again."""


TRANSITIONS: dict[SpareState, tuple[SpareState, ...]] = {
    SpareState.WANTED: (SpareState.ASKED,),
    SpareState.ASKED: (SpareState.READY, SpareState.MISSING),
    SpareState.READY: (SpareState.WANTED,),
    SpareState.MISSING: (SpareState.WANTED,),
}


class Spare:
    """The spare segment of one log. Every method that is called at the wrong time does nothing."""

    def __init__(self, size_bytes: int = 0) -> None:
        self.state = SpareState.READY if size_bytes else SpareState.WANTED
        self.size_bytes = size_bytes
        """Of the one that is there, or on its way."""

    def ask(self, size_bytes: int) -> bool:
        """Whether the batch that is made now has to create it, in this size."""
        asked = self._changed(SpareState.WANTED, SpareState.ASKED)
        if asked:
            self.size_bytes = size_bytes
        return asked

    def answered(self, missing: bool) -> None:
        """The batch was performed; ``missing`` says that there was no room."""
        self._changed(SpareState.ASKED, SpareState.MISSING if missing else SpareState.READY)

    def take(self, least_bytes: int) -> bool:
        """Whether there is one to use that is large enough; then it is gone."""
        return self.size_bytes >= least_bytes and self._changed(SpareState.READY, SpareState.WANTED)

    def use_in(self, operations: list[Operation]) -> None:
        """Have a segment that was begun while the spare was on its way be that one, if it is there
        by now. There may be no room on the disk for a file beside it."""
        for at, operation in enumerate(operations):
            if isinstance(operation, CreateFile) and self.take(operation.size_bytes):
                operations[at] = RenameFile(SPARE_FILE, operation.file)

    def retry(self) -> None:
        """There may be room by now."""
        self._changed(SpareState.MISSING, SpareState.WANTED)

    def _changed(self, before: SpareState, after: SpareState) -> bool:
        assert after in TRANSITIONS[before]
        if self.state is not before:
            return False
        self.state = after
        return True
