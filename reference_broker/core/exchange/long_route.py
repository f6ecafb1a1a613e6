"""A route of more bindings than one step has time for, found in portions.

What is bound when its exchange is passed counts, less what goes meanwhile: a route is never longer
than the topology was at one time, and no queue is on it that somebody declared under a name of
which the binding is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.work.until import Until
from reference_broker.errors import AmqpError

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue

ROUTE_LOOKS_MAX = 4_000
"""Bindings and looks of a route that is found in one step: 3 ms, where nothing of the queues is in
the processor's cache."""

PORTION_BINDINGS = 500
"""Bindings that are followed between two looks at the budget."""

BINDINGS_PER_UNIT = 2
"""Bindings of a long route that cost a unit: 0.7 us each to reach the queue, and 0.3 to see that it
is still bound."""


class TooLong(Exception):
    """The route takes more than one step: find it by :meth:`Router.find`."""


class LongRoute:
    """A route that is being found. ``queues`` is ``None`` until then; ``until`` happens when they
    are there. ``asked``: a queue was asked for what it has seen. ``version`` is the topology's, as
    it was at the beginning."""

    __slots__ = ("_error", "asked", "queues", "until", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self.until = Until()
        self.asked = False
        self.queues: tuple[Queue, ...] | None = None
        self._error: AmqpError | None = None

    def found(self, queues: tuple[Queue, ...]) -> None:
        """These are the queues. To be followed by :meth:`end`."""
        self.queues = queues

    def end(self, error: Exception | None) -> None:
        """It has come to an end: tell who waits. ``error`` is what the message is refused for."""
        if isinstance(error, AmqpError):
            self._error, self.queues = error, ()
        elif error is not None:
            raise error
        self.until.happened()

    def result(self) -> tuple[Queue, ...]:
        """The queues of a route that was found. Raises what the message is refused for."""
        if self._error is not None:
            raise self._error
        assert self.queues is not None
        return self.queues


class Turns:
    """Whose turn it is to find a long route: one at a time, as each holds a dictionary of its
    queues, and every channel may ask for one."""

    __slots__ = ("_free", "_taken")

    def __init__(self) -> None:
        self._taken = False
        self._free = Until()

    def take(self) -> Until | None:
        """Take the turn; or the event to wait for, with which it is taken."""
        if self._taken:
            return self._free
        self._taken = True
        return None

    def give_back(self) -> None:
        """Give it to who has waited longest, if anybody has."""
        if self._free:
            self._free.happened_for_one()
        else:
            self._taken = False
