"""An event that work waits for: a queue has all of its messages back, a deletion is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from reference_broker.errors import NotAgreed


class Until:
    """Callbacks for the next time that the event happens. Each is called once."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def __len__(self) -> int:
        """The number of those who wait."""
        return len(self._waiting)

    def then(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when it happens next."""
        self._waiting.append(callback)

    def happened(self) -> None:
        """Call those who wait, in the order in which they began to."""
        waiting, self._waiting = self._waiting, deque()
        for callback in waiting:
            callback()

    def happened_for_one(self) -> None:
        """Call who has waited longest. For an event that does not happen again, whose waiters may
        be too many for one turn."""
        self._waiting.popleft()()


class Once(Until):
    """The callbacks of an event that happens once: who waits later goes on at once."""

    __slots__ = ("has_happened",)

    def __init__(self) -> None:
        super().__init__()
        self.has_happened = False

    def then(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when it has happened, which may be now: who asked for it may have had
        more to put away before it could wait."""
        if self.has_happened:
            callback()
        else:
            super().then(callback)

    def happened(self) -> None:
        """It has happened."""
        self.has_happened = True
        super().happened()


class Agreement(Once):
    """The end of asking the other nodes of a cluster for a change of the definitions.

    ``failure`` says why nobody can be asked; then the request must not be handled again, but be
    refused with it. ``is_agreed`` is true when the change was made, and ``is_new`` where it made
    an object that had not been there.
    """

    __slots__ = ("failure", "is_agreed", "is_new")

    def __init__(self, *, is_new: bool) -> None:
        super().__init__()
        self.failure: NotAgreed | None = None
        self.is_agreed = False
        self.is_new = is_new


class NotYet(Exception):
    """The request can't be answered before something has happened: wait for ``until``, and handle
    the request again from its beginning. Nothing was changed."""

    def __init__(self, until: Until) -> None:
        super().__init__("the request has to wait")
        self.until = until
