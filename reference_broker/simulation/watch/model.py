"""The reference model: for each message and queue, the ways in which it may be gone.

It knows what clients sent and were told, and how often the broker says that it removed something
by itself. It does not do again what the broker does: which of two publishers came first, or when
exactly a message arrived, nobody outside can know. There it takes the weakest rule that no right
broker can break, and says which. What is gone without a way that is open to it is *lost*.

A message that is dead-lettered goes on in the next queue, so what it follows is a *life*: a message
in the queue that it was published to, and in those that its dead letters lead to from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import (
    BitRot,
    Losses,
    Message,
    Removal,
    RemovalKind,
    Start,
)
from reference_broker.simulation.plan.plans import QueuePlan


class Fate(Enum):
    """Reasons for which a message is gone."""

    SETTLED = "settled"
    AUTO_ACKED = "auto-acked"
    EXPIRED = "expired"
    MAXLEN = "maxlen"
    PURGED = "purged"
    DELETED = "deleted"
    TRANSIENT = "transient"
    """The message was not for the disk, or its dead letter wasn't, and the broker was started
    again."""
    DAMAGED = "damaged"
    """The message, or its queue's definition, stood where a bit was flipped, and the broker counts
    it."""


COUNTED = (Fate.AUTO_ACKED, Fate.EXPIRED, Fate.MAXLEN, Fate.PURGED, Fate.DAMAGED)
"""Fates whose number is known: not more messages can have gone that way than the broker has
counted."""


def lifetime_ms(message: Message, plan: QueuePlan) -> int | None:
    """Milliseconds that a message may stay in the queue that it was published to; ``None`` is for
    ever."""
    limits = [each for each in (plan.ttl_ms, message.expiration_ms) if each is not None]
    return min(limits, default=None)


@dataclass(slots=True, eq=False)
class Life:
    """A message in the queue that it was published to, or in those that its dead letters lead to.
    ``confirmed_before`` counts the messages that were confirmed for that queue when this was
    published: they are before it in the queue, whatever else is."""

    message: Message
    plan: QueuePlan
    confirmed_before: int
    fate: Fate | None = None
    rejected_in: int | None = None
    """The life of the broker in which it was rejected first, and may have died of that."""

    @property
    def lasts(self) -> bool:
        """True if the message survives a restart."""
        return self.message.persistent and self.plan.durable


@dataclass(slots=True)
class Account:
    """The fates of confirmed messages: ``gone`` by fate, and ``lost`` without one."""

    gone: Counter[Fate] = field(default_factory=Counter)
    lost: int = 0
    first_lost: Life | None = None


class ReferenceModel:
    """Told of everything, it makes an :meth:`account` whenever all queues can be looked at."""

    def __init__(self, queues: Mapping[str, QueuePlan], clock: SimulatedClock) -> None:
        self._queues = queues
        self._clock = clock
        self._sources = {
            plan.dead_letters_to: name for name, plan in queues.items() if plan.dead_letters_to
        }
        self._lives: dict[tuple[str, int], Life] = {}
        self._owed: dict[tuple[str, int], Life] = {}
        self._routed: Counter[str] = Counter()
        self._confirmed: Counter[str] = Counter()
        self._counted: Counter[tuple[str, Fate]] = Counter()
        self._blind_gets: Counter[str] = Counter()
        """Basic.gets without an answer, by queue: each may have taken one message."""
        self._removals: dict[str, list[Removal]] = {}
        self._broker_life = 0
        self._broker_life_ended: dict[Removal, int] = {}
        self._rot: BitRot | None = None
        self._rot_found: float = float("inf")
        """The stamp of the first start after the flipped bit: until then the broker knew better."""
        self._found_lost: Counter[str] = Counter()
        """Losses that the start of this life has counted, by queue."""
        self._orphans = 0
        """Lost messages of queues that were lost with their definitions."""

    # What happens

    def published(self, message: Message) -> None:
        for queue in message.queues:
            self._lives[queue, message.number] = Life(
                message, self._queues[queue], self._confirmed[queue]
            )
            self._routed[queue] += 1

    def confirmed(self, message: Message) -> None:
        for queue in message.queues:
            self._confirmed[queue] += 1
            self._owed[queue, message.number] = self._lives[queue, message.number]

    def settled(self, queue: str, number: int, fate: Fate) -> None:
        """A client took the message out of ``queue`` for good, or may have: a settlement counts
        when it was sent, as nobody knows whether it arrived before a crash."""
        life = self._lives.get((queue, number))
        if life is None:
            life = self._lives[self._sources[queue], number]
        life.fate = fate

    def rejected(self, queue: str, number: int) -> None:
        """A client has rejected the message, and ``queue`` has another for its dead letters."""
        life = self._lives[queue, number]
        if life.rejected_in is None:
            life.rejected_in = self._broker_life

    def blind_get(self, queue: str, change: int) -> None:
        """One more basic.get, or one less, is waiting for its answer."""
        self._blind_gets[queue] += change

    def removal(self, removal: Removal) -> None:
        self._removals.setdefault(removal.queue, []).append(removal)

    def started(self, start: Start, broker_life: int) -> None:
        """The broker has started for the ``broker_life``-th time. Messages that aren't for the disk
        are gone with the life before."""
        self._broker_life = broker_life
        if self._rot is not None:
            self._rot_found = min(self._rot_found, start.stamp)
        self._found_lost = start.lost
        self._orphans += start.orphans
        for removals in self._removals.values():
            for removal in removals:
                self._broker_life_ended.setdefault(removal, start.stamp)

    def life_ended(self, losses: Losses) -> None:
        """A life of the broker has ended, with its counts of removals. A crash may undo a part of
        them, and then that is counted again: so these are upper bounds."""
        self._found_lost = Counter()  # The queues have counted it too.
        for queue, counts in losses.items():
            for reason, count in counts.items():
                self._counted[queue, Fate(reason)] += count

    def bit_flipped(self, rot: BitRot) -> None:
        self._rot = rot

    # The account

    def account(self, present: Callable[[str, int], bool], wall_ms: int) -> Account:
        """The fate of every message that was confirmed and is not ``present`` at that time."""
        account = Account()
        unclear: dict[str, list[tuple[Life, tuple[Fate, ...]]]] = {}
        for (queue, number), life in self._owed.items():
            if any(present(each, number) for each in self._way(queue)):
                continue
            if life.fate is not None:
                account.gone[life.fate] += 1
                continue
            fate = self._uncounted(life)
            if fate is not None:
                account.gone[fate] += 1
                continue
            fates = tuple(each for each in COUNTED if self._may(life, each, wall_ms))
            unclear.setdefault(queue, []).append((life, fates))
        for queue, lives in unclear.items():
            self._share_out(queue, lives, account)
        return account

    def _letters_end(self, plan: QueuePlan) -> bool:
        """True where a start ends the dead letters of a queue."""
        target = plan.dead_letters_to
        return target is not None and not self._queues[target].durable

    def _way(self, queue: str) -> Iterable[str]:
        target = self._queues[queue].dead_letters_to
        return (queue,) if target is None else (queue, target)

    def _uncounted(self, life: Life) -> Fate | None:
        message = life.message
        if not life.lasts and message.life < self._broker_life:
            return Fate.TRANSIENT
        rejected_in = self._broker_life if life.rejected_in is None else life.rejected_in
        if self._letters_end(life.plan) and rejected_in < self._broker_life:
            return Fate.TRANSIENT
        removals = self._removals.get(life.plan.name, ())
        if any(
            removal.kind is RemovalKind.DELETE and removal.sent > message.stamp
            for removal in removals
        ):
            return Fate.DELETED
        return None

    def _may(self, life: Life, fate: Fate, wall_ms: int) -> bool:
        """True if the message could have gone by that fate. Dead letters go on living, so the last
        two are only for where there are none, or where a start may have taken them."""
        message, plan = life.message, life.plan
        if fate is Fate.AUTO_ACKED:
            return True
        if fate is Fate.PURGED:
            return any(
                self._handled_by(removal) > message.stamp
                for removal in self._removals.get(plan.name, ())
            )
        if fate is Fate.DAMAGED:
            return self._was_hit(message)
        if plan.dead_letters_to is not None:
            started_since = message.life < self._broker_life
            if not (started_since and self._letters_end(plan)):
                return False
        if fate is Fate.EXPIRED:
            # It came to the broker when it was sent, or later.
            ttl_ms = lifetime_ms(message, plan)
            if ttl_ms is None:
                return False
            in_one_life = message.life == self._broker_life
            off_ms = self._clock.off_ms(ttl_ms, in_one_life=in_one_life)
            return wall_ms >= message.wall_ms + ttl_ms - off_ms
        return plan.max_length is not None and self._behind(life) >= plan.max_length

    def _was_hit(self, message: Message) -> bool:
        """True if the flipped bit concerned the message. Without its definition a queue is lost
        with all that is in it."""
        rot = self._rot
        if rot is None:
            return False
        return message.number in rot.numbers or (rot.defines and message.stamp < self._rot_found)

    def _handled_by(self, removal: Removal) -> float:
        """The stamp by which the broker had handled the removal, if it had."""
        if removal.done is not None:
            return removal.done
        return self._broker_life_ended.get(removal, float("inf"))

    def _behind(self, life: Life) -> int:
        """Messages that may have been in the queue when this one was dropped: all others but those
        that are known to have come before it. (Where there are priorities, those too.)"""
        before = 0 if life.plan.max_priority else life.confirmed_before
        return self._routed[life.plan.name] - before - 1

    def _share_out(
        self, queue: str, lives: Sequence[tuple[Life, tuple[Fate, ...]]], account: Account
    ) -> None:
        """Every life needs a fate that is open to it, and no fate takes more than were counted.

        Hall's theorem: that can be done for all if, for every set of fates, there are not more
        lives that have nothing else than were counted; and otherwise that many are left over.
        """
        room = {fate: self._room(queue, fate) for fate in COUNTED}
        by_fates = [(set(fates), count) for fates, count in Counter(f for _, f in lives).items()]
        lost = 0
        for size in range(len(COUNTED) + 1):
            for chosen in map(set, combinations(COUNTED, size)):
                bound = sum(count for fates, count in by_fates if fates <= chosen)
                lost = max(lost, bound - sum(room[fate] for fate in chosen))
        for life, fates in sorted(lives, key=lambda each: len(each[1])):
            fate = next((each for each in fates if room[each] > 0), None)
            if fate is not None:
                room[fate] -= 1
                account.gone[fate] += 1
            elif lost and account.first_lost is None:
                account.first_lost = life
        account.lost += lost

    def _room(self, queue: str, fate: Fate) -> int:
        if fate is Fate.AUTO_ACKED:
            return sum(self._blind_gets[each] for each in self._way(queue))
        if fate is Fate.DAMAGED:
            # A dead letter is counted where it lay, and a queue that is lost has no name.
            here = sum(
                self._counted[each, fate] + self._found_lost[each] for each in self._way(queue)
            )
            return here + self._orphans
        return self._counted[queue, fate]
