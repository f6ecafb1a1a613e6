"""The law of ``x-death``: a dead letter says where it died, of what and how often, and it says the
truth.

The history is newest first, one table per queue and reason. It follows the way that the scenario
laid out: out of the queue that it was published to, into the one for its dead letters, and from
one where rejected messages wait back to where they came from.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import (
    BitRot,
    DeathNote,
    Delivery,
    Message,
    Settlement,
    Start,
)
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers.checker import Checker
from reference_broker.simulation.watch.model import lifetime_ms

EXPIRED = "expired"
MAXLEN = "maxlen"
REJECTED = "rejected"


class XDeathChecker(Checker):
    """Also: a message that has left a queue for another is in one of the two, never in both."""

    name = "x-death"

    def __init__(self, queues: Mapping[str, QueuePlan], clock: SimulatedClock) -> None:
        self._queues = queues
        self._clock = clock
        self._messages: dict[int, Message] = {}
        self._rejects: dict[tuple[str, int], dict[int, int]] = {}
        """By queue and message: the deaths it had when it was rejected there, each with the stamp
        of that delivery."""
        self._last_start = 0
        self._rotten = False

    def published(self, message: Message) -> None:
        self._messages[message.number] = message

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        if how is Settlement.REJECT:
            rejects = self._rejects.setdefault((delivery.queue, delivery.number), {})
            rejects[delivery.deaths] = delivery.sent

    def delivered(self, delivery: Delivery) -> None:
        message = self._messages[delivery.number]
        if not delivery.history:
            if delivery.queue not in message.queues:
                raise self._wrong(
                    delivery.queue,
                    delivery.number,
                    delivery.history,
                    "it was never published there",
                )
            return
        if self._previous(delivery.queue) != delivery.history[0].queue:
            raise self._wrong(
                delivery.queue,
                delivery.number,
                delivery.history,
                "nothing leads there from where it died last",
            )
        for note in delivery.history:
            self._check_note(delivery, note, message)
        why = self._miscounted(delivery.queue, delivery.history)
        if why:
            raise self._wrong(delivery.queue, delivery.number, delivery.history, why)
        self._check_it_rises(delivery)
        newest, oldest = delivery.history[0], delivery.history[-1]
        if delivery.last_death != (newest.queue, newest.reason):
            raise self._wrong(
                delivery.queue,
                delivery.number,
                delivery.history,
                f"its last death was {delivery.last_death}",
            )
        if delivery.first_death is None or delivery.first_death[0] not in message.queues:
            raise self._wrong(
                delivery.queue,
                delivery.number,
                delivery.history,
                f"its first death was {delivery.first_death}",
            )
        if len(delivery.history) == 1 and delivery.first_death != (oldest.queue, oldest.reason):
            raise self._wrong(
                delivery.queue,
                delivery.number,
                delivery.history,
                f"its first death was {delivery.first_death}",
            )

    def bit_flipped(self, rot: BitRot) -> None:
        """The flipped bit may have been in the record of the way from one queue to the other."""
        self._rotten = True

    def started(self, start: Start) -> None:
        self._last_start = start.stamp
        for name, copies in start.queues.items():
            for copy in copies:
                why = self._miscounted(name, copy.history)
                if why:
                    raise self._wrong(name, copy.number, copy.history, why)
        if not self._rotten:
            self._check_places(start)

    def _check_places(self, start: Start) -> None:
        for name, copies in start.queues.items():
            target = self._queues[name].dead_letters_to
            if target is None:
                continue
            left = {copy.number for copy in start.queues.get(target, ()) if copy.deaths}
            both = [copy.number for copy in copies if copy.number in left]
            if both:
                raise self.fail(f"message {both[0]} is in '{name}' and in '{target}' after a start")

    def _previous(self, queue: str) -> str | None:
        for name, plan in self._queues.items():
            if plan.dead_letters_to == queue:
                return name
        return None

    def _check_note(self, delivery: Delivery, note: DeathNote, message: Message) -> None:
        plan = self._queues[note.queue]
        if note.times < 1:
            raise self._wrong(
                delivery.queue, delivery.number, delivery.history, "it counts from one"
            )
        if note.reason == REJECTED:
            rejects = len(self._rejects.get((note.queue, delivery.number), ()))
            if note.times > rejects:
                raise self._wrong(
                    delivery.queue,
                    delivery.number,
                    delivery.history,
                    f"it was rejected {rejects} times",
                )
        elif note.reason == MAXLEN:
            if plan.max_length is None:
                raise self._wrong(
                    delivery.queue, delivery.number, delivery.history, "that queue has no limit"
                )
        elif note.reason == EXPIRED:
            if not self._may_have_expired(message, plan, delivery.sent_ms):
                raise self._wrong(
                    delivery.queue, delivery.number, delivery.history, "it had not expired"
                )
        else:
            raise self._wrong(
                delivery.queue, delivery.number, delivery.history, "that is no reason"
            )

    def _check_it_rises(self, delivery: Delivery) -> None:
        """Check that a message that comes as new after it was rejected has died once more; but a
        crash may have undone the rejection and what followed it."""
        rejects = self._rejects.get((delivery.queue, delivery.number), {})
        rejected = rejects.get(delivery.deaths, self._last_start)
        if self._last_start < rejected < delivery.sent and not delivery.redelivered:
            why = f"it was rejected with {delivery.deaths} deaths before"
            raise self._wrong(delivery.queue, delivery.number, delivery.history, why)

    def _miscounted(self, queue: str, history: tuple[DeathNote, ...]) -> str:
        """The mistake in the counts, if there is one. In a cycle, each rejection but the last was
        followed by the end of a wait."""
        here = self._queues[queue]
        if not history:
            return ""
        if not (here.waits or here.retries):
            return "" if sum(note.times for note in history) == 1 else "it can have died only once"
        counts = {note.reason: note.times for note in history}
        expected = counts.get(REJECTED, 0) - here.waits
        return "" if counts.get(EXPIRED, 0) == expected else f"it has waited {expected} times"

    def _may_have_expired(self, message: Message, plan: QueuePlan, by_ms: int) -> bool:
        ttl_ms = lifetime_ms(message, plan)
        if ttl_ms is None:
            return False
        in_one_life = message.stamp > self._last_start
        off_ms = self._clock.off_ms(ttl_ms, in_one_life=in_one_life)
        return by_ms >= message.wall_ms + ttl_ms - off_ms

    def _wrong(
        self, queue: str, number: int, history: tuple[DeathNote, ...], why: str
    ) -> Exception:
        notes = ", ".join(f"{n.times}x {n.reason} in '{n.queue}'" for n in history)
        return self.fail(f"message {number} is in '{queue}' with the history [{notes}], but {why}")
