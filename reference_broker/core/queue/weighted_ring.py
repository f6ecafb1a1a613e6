"""Consumers of one priority that share by weight: ours, beyond RabbitMQ's round robin.

Each consumer has a clock that an own delivery moves on by one step, which is the shorter the higher
its weight; the one whose clock is behind is next. So weights 3 and 1 are served a b a a, a b a a,
and not in runs (stride scheduling, Waldspurger 1995; the same order as smooth weighted round
robin, at O(log n) for each message). Who has no capacity rests, and doesn't save up turns: when it
is back, its clock is no further behind than that of whoever is next.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reference_broker.core.queue.ports import ConsumerPort

WEIGHT_MAX = 1_000
"""Of one consumer: a thousand to one is as good as a priority."""

_STEP = 1 << 40
"""Of a consumer of weight 1. Whole numbers, so that no rounding adds up over years."""


class Ring(Protocol):
    """Consumers of one priority, the one whose turn it is in front. A ``deque`` is one."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[ConsumerPort]: ...
    def __getitem__(self, place: int, /) -> ConsumerPort: ...
    def append(self, consumer: ConsumerPort, /) -> None: ...
    def remove(self, consumer: ConsumerPort, /) -> None: ...
    def popleft(self) -> ConsumerPort:
        """Let the one in front rest, until it is given to :meth:`extend`."""
        ...

    def extend(self, resting: Iterable[ConsumerPort], /) -> None: ...
    def rotate(self, steps: int, /) -> None:
        """The one in front was served: whose turn is it now?"""
        ...


class WeightedRing:
    """A :class:`Ring` by weight. Only the consumer in front can be asked for."""

    __slots__ = ("_arrivals", "_clocks", "_heap", "_now")

    def __init__(self, consumers: Iterable[ConsumerPort] = ()) -> None:
        self._heap: list[tuple[int, int, ConsumerPort]] = []
        """(clock, arrival, consumer): the arrival decides between equals."""
        self._clocks: dict[ConsumerPort, tuple[int, int]] = {}
        """Those that rest."""
        self._arrivals = 0
        self._now = 0
        """The clock of the last one that was served."""
        for consumer in consumers:
            self.append(consumer)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[ConsumerPort]:
        return (consumer for _, _, consumer in self._heap)

    def __getitem__(self, place: int, /) -> ConsumerPort:
        return self._heap[place][2]

    def append(self, consumer: ConsumerPort, /) -> None:
        """A new one. Its first turn comes after one step, like everybody's."""
        self._arrivals += 1
        heapq.heappush(self._heap, (self._now + _STEP // consumer.weight, self._arrivals, consumer))

    def remove(self, consumer: ConsumerPort, /) -> None:
        self._heap = [turn for turn in self._heap if turn[2] is not consumer]
        heapq.heapify(self._heap)

    def popleft(self) -> ConsumerPort:
        clock, arrival, consumer = heapq.heappop(self._heap)
        self._clocks[consumer] = clock, arrival
        return consumer

    def extend(self, resting: Iterable[ConsumerPort], /) -> None:
        for consumer in resting:
            clock, arrival = self._clocks.pop(consumer)
            heapq.heappush(self._heap, (max(clock, self._now), arrival, consumer))

    def rotate(self, steps: int, /) -> None:
        clock, arrival, consumer = self._heap[0]
        self._now = clock
        heapq.heapreplace(self._heap, (clock + _STEP // consumer.weight, arrival, consumer))
