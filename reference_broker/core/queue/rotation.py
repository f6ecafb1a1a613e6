"""The consumers of a queue: who may have it, who takes turns, and who rests.

A consumer that was asked and had no capacity rests: it leaves its ring, and costs a message
nothing, until :meth:`ConsumerRotation.wake` says that it may have some again (so does RabbitMQ,
which calls it blocked). Of several that are woken, the one that has rested longest is in front. One
that is alone rests where it is: the rotation is idle, which is all that a short prefetch costs.
Whoever is asked for, added or removed is found by its key, never by a walk over all the others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection
from typing import TYPE_CHECKING

from reference_broker.core.queue.weighted_ring import Ring, RoundRobinRing, WeightedRing

if TYPE_CHECKING:
    from reference_broker.core.queue.ports import ConsumerPort


class ConsumerRotation:
    """The consumers of one queue: ``consumers`` in order of arrival, ``turns`` as they are served.

    With ``single_active`` only one is served, :attr:`active` (RabbitMQ's
    ``x-single-active-consumer``): the first one, until it goes. Then the one of the highest
    priority takes over, of several the one that has been here longest.
    """

    __slots__ = (
        "_exclusive", "_resting", "_rests", "_waiting", "active", "consumers", "idle", "turns",
        "woken",
    )  # fmt: skip

    def __init__(self, *, single_active: bool = False) -> None:
        self.consumers: dict[ConsumerPort, None] = {}
        self.turns = PriorityRings()
        self.idle = False
        """The only consumer that is served has no capacity, and rests where it is."""
        self.active: ConsumerPort | None = None
        """The single active consumer; ``None`` where there is no such thing."""
        self._waiting = PriorityRings() if single_active else None
        """Those that may become the single active consumer; ``None`` where nobody is it."""
        self._exclusive: ConsumerPort | None = None
        self._resting: dict[ConsumerPort, int] = {}
        """Those without capacity, numbered as they went to rest."""
        self._rests = 0
        self.woken: dict[ConsumerPort, None] = {}
        """Those that rest, and may have capacity again."""

    @property
    def serving(self) -> Collection[ConsumerPort]:
        """The consumers that get messages, whether they have capacity or not: all, or the single
        active one."""
        if self._waiting is None:
            return self.consumers.keys()
        return () if self.active is None else (self.active,)

    def refuses(self, consumer: ConsumerPort) -> bool:
        """An exclusive consumer has the queue, or ``consumer`` asks for it and can't have it."""
        if consumer.exclusive:
            return bool(self.consumers) or self._waiting is not None
        return self._exclusive is not None

    def add(self, consumer: ConsumerPort) -> None:
        """Let a consumer take part that is not refused."""
        self.consumers[consumer] = None
        self.idle = False
        if consumer.exclusive:
            self._exclusive = consumer
        if self._waiting is None:
            self.turns.add(consumer)
        elif self.active is None:
            self._activate(consumer)
        else:
            self._waiting.add(consumer)

    def remove(self, consumer: ConsumerPort) -> bool:
        """Take a consumer out; false when it was not here."""
        if consumer not in self.consumers:
            return False
        del self.consumers[consumer]
        self.idle = False
        if consumer is self._exclusive:
            self._exclusive = None
        if self._waiting is not None and consumer is not self.active:
            self._waiting.remove(consumer)
            return True
        self._resting.pop(consumer, None)
        self.woken.pop(consumer, None)
        self.turns.remove(consumer)
        if self._waiting is not None:
            highest = self._waiting.first
            successor = None if highest is None else next(iter(highest))
            if successor is not None:
                self._waiting.remove(successor)
            self._activate(successor)
        return True

    def _activate(self, consumer: ConsumerPort | None) -> None:
        self.active = consumer
        if consumer is not None:
            self.turns.add(consumer)

    # Capacity

    def rest(self, consumer: ConsumerPort) -> None:
        """A consumer that takes turns has no capacity: do not ask it again until it is woken, and
        nobody at all while the rotation is ``idle``."""
        if not self._resting and self.turns.has_one:
            self.idle = True
            return
        self._rests += 1
        self._resting[consumer] = self._rests
        self.turns.rest(consumer)

    def wake(self, consumer: ConsumerPort) -> bool:
        """``consumer`` may have capacity again: mark its queue dirty if this returns true. False
        when it does not rest, and so no message has waited for it. Idempotent."""
        was_idle, self.idle = self.idle, False
        if consumer not in self._resting:
            return was_idle
        self.woken[consumer] = None
        return True

    def resume_woken(self) -> int:
        """Let those that were woken take turns again; returns how many. To be called before
        anybody is served."""
        resting = self._resting
        if len(self.woken) == len(resting):
            woken = list(resting)
            resting.clear()
        else:
            woken = sorted(self.woken, key=resting.__getitem__)
            for consumer in woken:
                del resting[consumer]
        self.woken.clear()
        for consumer in woken:
            self.turns.resume(consumer)
        return len(woken)


class PriorityRings:
    """Consumers by priority, those of one priority in a ring. ``first`` is the ring of the highest
    priority in which somebody takes turns; ``None`` where nobody does."""

    __slots__ = ("_members", "_order", "_rings", "first")

    def __init__(self) -> None:
        self._rings: dict[int, Ring] = {}
        self._members: dict[int, int] = {}
        """By priority: how many take turns or rest."""
        self._order: list[int] = []
        """Priorities in which somebody takes turns, each with the other sign: highest first."""
        self.first: Ring | None = None

    @property
    def is_empty(self) -> bool:
        """Nobody is here, and nothing is kept of those that were."""
        return not (self._rings or self._members or self._order)

    @property
    def has_one(self) -> bool:
        """One consumer takes turns, and no other."""
        return self.first is not None and len(self.first) == len(self._order) == 1

    def add(self, consumer: ConsumerPort) -> None:
        """A new one, behind those of its priority."""
        priority = consumer.priority
        ring = self._rings.get(priority)
        if ring is None:
            ring = self._rings[priority] = RoundRobinRing()
        if consumer.weight != 1 and not isinstance(ring, WeightedRing):
            ring = self._rings[priority] = WeightedRing(ring)
            self._look_for_first()
        self._members[priority] = self._members.get(priority, 0) + 1
        ring.add(consumer)
        self._has_grown(priority, ring)

    def remove(self, consumer: ConsumerPort) -> None:
        """One that is here, whether it takes turns or rests."""
        priority = consumer.priority
        ring = self._rings[priority]
        took_turns = len(ring) > 0
        ring.remove(consumer)
        if took_turns and not ring:
            self._end(priority)
        self._members[priority] -= 1
        if not self._members[priority]:
            del self._members[priority], self._rings[priority]

    def rest(self, consumer: ConsumerPort) -> None:
        """Pass one over that takes turns."""
        ring = self._rings[consumer.priority]
        ring.rest(consumer)
        if not ring:
            self._end(consumer.priority)

    def resume(self, consumer: ConsumerPort) -> None:
        """Have one that rests take turns again."""
        ring = self._rings[consumer.priority]
        ring.resume(consumer)
        self._has_grown(consumer.priority, ring)

    def _has_grown(self, priority: int, ring: Ring) -> None:
        if len(ring) > 1:
            return
        if not self._order:
            self._order.append(-priority)
            self.first = ring
            return
        insort(self._order, -priority)
        self._look_for_first()

    def _end(self, priority: int) -> None:
        """Nobody of that priority takes turns any more."""
        del self._order[bisect_left(self._order, -priority)]
        self._look_for_first()

    def _look_for_first(self) -> None:
        self.first = self._rings[-self._order[0]] if self._order else None
