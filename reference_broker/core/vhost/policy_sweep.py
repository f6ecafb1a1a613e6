"""The sweep after a change of a policy: every queue and exchange that it concerns is looked at, in
slices.

The law: the first slice is done within the input that made the change, the rest in ticks that
follow each other at once, so that a virtual host of ten thousand queues stops nobody. Each object
is given what the policies say when its turn comes, so the sweeps of several changes can follow
each other, and what was declared meanwhile needs none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.budget import Budget

SLICE_WORK = 1_000
"""Objects that are looked at within one input, where a message that a new limit cuts off counts as
one too, and an object that is given its policies anew as ``REFRESH_WORK``: some milliseconds."""

SLICE_UNITS = 1_000
"""Units of work that end a slice sooner: a look costs what the pattern does."""

REFRESH_WORK = 8
"""The cost of a match with all policies and of new limits, in looks."""

SWEEPS_MAX = 16
"""Changes that may be under way at once. One more, and all become one sweep that looks at
everything: it costs more for each object, and no more than that."""

Subject: TypeAlias = Queue | Exchange
Concerns: TypeAlias = Callable[[Subject], bool]


class SweepPort(Protocol):
    """The virtual host's policies, as a sweep sees them. What they do comes off the ``budget``."""

    budget: Budget

    def subjects(self) -> Iterable[Subject]:
        """All exchanges and queues that exist now."""
        ...

    def refresh(self, subject: Subject) -> int:
        """Give an object the policies that match it now, if it still exists; returns how many
        messages a new limit has cut off."""
        ...

    def swept(self) -> None:
        """Called when a slice has ended."""
        ...

    def go_on_later(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called in a later input, soon."""
        ...


class PolicySweep:
    """The changes of policies that are under way in one virtual host."""

    def __init__(self, port: SweepPort) -> None:
        self._port = port
        self._sweeps: deque[_Sweep] = deque()
        self._waiting = False

    @property
    def under_way(self) -> bool:
        """True while some objects may not have been looked at."""
        return bool(self._sweeps)

    def start(self, concerns: Concerns) -> None:
        """Look at everything that the change ``concerns``."""
        if len(self._sweeps) == SWEEPS_MAX:
            self._sweeps.clear()
            concerns = _everything
        self._sweeps.append(_Sweep(concerns, self._port.subjects()))
        if not self._waiting:
            self._slice()

    def _slice(self) -> None:
        self._waiting = False
        work, sweeps = SLICE_WORK, self._sweeps
        budget = self._port.budget
        end = budget.left - SLICE_UNITS
        while sweeps and work > 0 and budget.left > end:
            subject = sweeps[0].next()
            if subject is None:
                sweeps.popleft()
                continue
            work -= 1
            if sweeps[0].concerns(subject):
                work -= REFRESH_WORK + self._port.refresh(subject)
        self._port.swept()
        if sweeps:
            self._waiting = True
            self._port.go_on_later(self._slice)


class _Sweep:
    """One change, and the objects that are still to be looked at for it."""

    __slots__ = ("_left", "concerns")

    def __init__(self, concerns: Concerns, subjects: Iterable[Subject]) -> None:
        self.concerns = concerns
        self._left = deque(subjects)

    def next(self) -> Subject | None:
        return self._left.popleft() if self._left else None


def _everything(subject: Subject) -> bool:
    return True
