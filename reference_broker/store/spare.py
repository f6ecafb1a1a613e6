"""The spare segment: the next one, made ahead, so that a full disk shows before it hurts.

While there is no room for another spare, publishers are blocked, and a whole empty segment is still
there for acks.
"""

from __future__ import annotations

from enum import Enum, auto


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

    def __init__(self) -> None:
        self.state = SpareState.WANTED

    def ask(self) -> bool:
        """Whether the batch that is made now has to create it."""
        return self._changed(SpareState.WANTED, SpareState.ASKED)

    def answered(self, missing: bool) -> None:
        """The batch was performed; ``missing`` says that there was no room."""
        self._changed(SpareState.ASKED, SpareState.MISSING if missing else SpareState.READY)

    def take(self) -> bool:
        """Whether there is one to use; then it is gone."""
        return self._changed(SpareState.READY, SpareState.WANTED)

    def retry(self) -> None:
        """There may be room by now."""
        self._changed(SpareState.MISSING, SpareState.WANTED)

    def _changed(self, before: SpareState, after: SpareState) -> bool:
        assert after in TRANSITIONS[before]
        if self.state is not before:
            return False
        self.state = after
        return True
