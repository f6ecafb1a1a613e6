"""Rings: the consumers of one priority, in the order of their turns.

Most share equally, round robin. As soon as one of them has a weight, they share by weight: ours,
beyond RabbitMQ's round robin. Then each consumer has a clock that an own delivery moves on by one
step, which is the shorter the higher its weight; the one whose clock is behind is next. So weights
3 and 1 are served a b a a, a b a a, and not in runs (stride scheduling, Waldspurger 1995; the same
order as smooth weighted round robin, at O(log n) for each message). Who has no capacity rests, and
doesn't save up turns: when it is back, its clock is no further behind than that of whoever is next.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reference_broker.core.queue.ports import ConsumerPort

WEIGHT_MAX = 1_000
"""Of one consumer: a thousand to one is as good as a priority."""

_STEP = 1 << 40
"""Of a consumer of weight 1. Whole numbers, so that no rounding adds up over years."""

_GONE_MAX = 64
"""Turns of consumers that are gone or rest, in the heap beside as many as are alive: then it is
made anew, so that each removal costs its share of that."""


class Ring(Protocol):
    """Consumers of one priority: those that take turns, and those that rest."""

    def __len__(self) -> int:
        """Consumers that take turns."""
        ...

    def __iter__(self) -> Iterator[ConsumerPort]:
        """Those that take turns; the first is the one whose turn it is."""
        ...

    def add(self, consumer: ConsumerPort, /) -> None:
        """A new one."""
        ...

    def remove(self, consumer: ConsumerPort, /) -> None:
        """One that goes, whether it takes turns or rests."""
        ...

    def rest(self, consumer: ConsumerPort, /) -> None:
        """Pass a consumer over that takes turns, until it is given to :meth:`resume`."""
        ...

    def resume(self, consumer: ConsumerPort, /) -> None:
        """Let a consumer that rests take turns again, behind those that do."""
        ...

    def move_to_end(self, consumer: ConsumerPort, /) -> None:
        """The consumer whose turn it was is served."""
        ...


class RoundRobinRing(OrderedDict["ConsumerPort", None]):
    """A :class:`Ring` in which all have equal shares. Ordered by links, so that whoever is in front
    is found at once, however many went before."""

    __slots__ = ()

    def remove(self, consumer: ConsumerPort, /) -> None:
        self.pop(consumer, None)

    # A consumer with a prefetch of 1 rests after each message.
    rest = OrderedDict.__delitem__
    resume = add = OrderedDict.setdefault


class WeightedRing:
    """A :class:`Ring` by weight. A turn in the heap that its consumer has no more is passed over
    when it comes to the front."""

    __slots__ = ("_arrivals", "_heap", "_now", "_resting", "_turns")

    def __init__(self, consumers: Iterable[ConsumerPort] = ()) -> None:
        self._heap: list[tuple[int, int, ConsumerPort]] = []
        """(clock, arrival, consumer): the arrival decides between equals."""
        self._turns: dict[ConsumerPort, tuple[int, int]] = {}
        """Clock and arrival of those that take turns."""
        self._resting: dict[ConsumerPort, tuple[int, int]] = {}
        self._arrivals = 0
        self._now = 0
        """The clock of the last one that was served."""
        for consumer in consumers:
            self.add(consumer)

    def __len__(self) -> int:
        return len(self._turns)

    def __iter__(self) -> Iterator[ConsumerPort]:
        heap, turns = self._heap, self._turns
        while heap:
            clock, arrival, consumer = heap[0]
            if turns.get(consumer) == (clock, arrival):
                break
            heapq.heappop(heap)
        return (each for clock, arrival, each in heap if turns.get(each) == (clock, arrival))

    def add(self, consumer: ConsumerPort, /) -> None:
        """Its first turn comes after one step, like everybody's."""
        self._arrivals += 1
        self._push(consumer, self._now + _STEP // consumer.weight, self._arrivals)

    def remove(self, consumer: ConsumerPort, /) -> None:
        if self._turns.pop(consumer, None) is None:
            self._resting.pop(consumer, None)
        self._tidy()

    def rest(self, consumer: ConsumerPort, /) -> None:
        self._resting[consumer] = self._turns.pop(consumer)
        self._tidy()

    def resume(self, consumer: ConsumerPort, /) -> None:
        # One that rested before anybody had a weight has no clock yet.
        clock, arrival = self._resting.pop(consumer, (self._now, 0))
        if not arrival:
            arrival = self._arrivals = self._arrivals + 1
        self._push(consumer, max(clock, self._now), arrival)

    def move_to_end(self, consumer: ConsumerPort, /) -> None:
        clock, arrival = self._turns[consumer]
        self._now = clock
        later = clock + _STEP // consumer.weight
        self._turns[consumer] = later, arrival
        heapq.heapreplace(self._heap, (later, arrival, consumer))

    def _push(self, consumer: ConsumerPort, clock: int, arrival: int) -> None:
        self._turns[consumer] = clock, arrival
        heapq.heappush(self._heap, (clock, arrival, consumer))

    def _tidy(self) -> None:
        """A consumer that rests and resumes at the same clock has the same turn twice, which does
        no harm: the second is passed over once it was served by the first."""
        if len(self._heap) > 2 * len(self._turns) + _GONE_MAX:
            self._heap = [(*turn, consumer) for consumer, turn in self._turns.items()]
            heapq.heapify(self._heap)
