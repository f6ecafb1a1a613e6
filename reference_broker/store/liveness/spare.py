"""The spare segment: the next one, made ahead, so that a full disk shows before it hurts.

While there is no room for another spare, publishers are blocked, and a whole empty segment is still
there for acks. The first segment of a log was one, too, and may be smaller than the others. For a
message that it is too small for, the spare is made larger before the message is logged.
"""

from __future__ import annotations

from enum import Enum, auto

from reference_broker.store.disk.ports import CreateFile, Operation, RenameFile
from reference_broker.store.format.segment import SPARE_FILE


class SpareState(Enum):
    """The state of the spare file, as far as it is known."""

    WANTED = auto()
    """There is none; the next batch is to make it."""
    ASKED = auto()
    """A batch that makes it is on its way."""
    READY = auto()
    GROWING = auto()
    """There is one, and a batch that makes it larger is on its way."""
    MISSING = auto()
    """There was no room for it. Nothing is done until :meth:`Spare.retry`."""


TRANSITIONS: dict[SpareState, tuple[SpareState, ...]] = {
    SpareState.WANTED: (SpareState.ASKED,),
    SpareState.ASKED: (SpareState.READY, SpareState.MISSING),
    SpareState.READY: (SpareState.WANTED, SpareState.GROWING),
    SpareState.GROWING: (SpareState.READY,),
    SpareState.MISSING: (SpareState.WANTED,),
}


class Spare:
    """The spare segment of one log. Every method that is called at the wrong time does nothing."""

    def __init__(self, size_bytes: int = 0) -> None:
        self.state = SpareState.READY if size_bytes else SpareState.WANTED
        self.size_bytes = size_bytes
        """Of the one that is there, or on its way."""
        self._least_bytes = 0
        self._asked_bytes = 0
        self._refused_bytes = 0
        self._absent = False
        self._again = False

    @property
    def missing(self) -> bool:
        """When it was asked for last there was no room for it, or for as much as is wanted now."""
        return self._absent or self._refused

    @property
    def _refused(self) -> bool:
        return 0 < self._refused_bytes <= self._least_bytes

    def is_as_usual(self, size_bytes: int) -> bool:
        """There is one, of ``size_bytes``, and nobody wants another."""
        usual = self.state is SpareState.READY and self.size_bytes == size_bytes
        return usual and not (self._least_bytes or self._refused_bytes)

    def want(self, least_bytes: int) -> None:
        """Have the next spare segment hold ``least_bytes``: a message that waits is so large.
        Idempotent."""
        self._least_bytes = max(self._least_bytes, least_bytes)

    def want_no_more(self) -> None:
        """No message waits any more: the usual size will do. Idempotent."""
        self._least_bytes = 0

    def ask(self, size_bytes: int) -> int:
        """The size in which the batch that is made now has to create it, or 0. ``size_bytes`` is
        the usual one: what is wanted beyond that comes after it."""
        if not self._least_bytes:
            self._refused_bytes = 0
        if self._changed(SpareState.WANTED, SpareState.ASKED):
            self.size_bytes = size_bytes
            return size_bytes
        if self._least_bytes <= self.size_bytes or (self._refused and not self._again):
            return 0
        if not self._changed(SpareState.READY, SpareState.GROWING):
            return 0
        self._again = False
        self._asked_bytes = self._least_bytes
        return self._asked_bytes

    def shrink(self, size_bytes: int) -> bool:
        """``True`` when the batch that is made now has to cut it to ``size_bytes``, the usual size:
        it is larger, and nobody waits for that any more."""
        if self._least_bytes or self.state is not SpareState.READY:
            return False
        larger = self.size_bytes > size_bytes
        self.size_bytes = min(self.size_bytes, size_bytes)
        return larger

    def answered(self, missing: bool) -> None:
        """The batch was performed; ``missing`` when there was no room."""
        if self._changed(SpareState.GROWING, SpareState.READY):
            self._refused_bytes = self._asked_bytes if missing else 0
            if not missing:
                self.size_bytes = self._asked_bytes
        elif self._changed(SpareState.ASKED, SpareState.MISSING if missing else SpareState.READY):
            self._absent = missing

    def take(self, least_bytes: int) -> bool:
        """Use it, if it is there and large enough: ``True``, and it is gone."""
        return self.size_bytes >= least_bytes and self._changed(SpareState.READY, SpareState.WANTED)

    def use_in(self, operations: list[Operation]) -> None:
        """Have a segment that was begun while the spare was on its way be that one, if it is there
        by now. There may be no room on the disk for a file beside it."""
        for at, operation in enumerate(operations):
            if isinstance(operation, CreateFile) and self.take(operation.size_bytes):
                operations[at] = RenameFile(SPARE_FILE, operation.file)

    def retry(self) -> None:
        """There may be room by now."""
        self._again = True
        self._changed(SpareState.MISSING, SpareState.WANTED)

    def _changed(self, before: SpareState, after: SpareState) -> bool:
        assert after in TRANSITIONS[before]
        if self.state is not before:
            return False
        self.state = after
        return True
