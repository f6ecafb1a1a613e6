"""Bugs in the turns of consumers, and in the room that they have after settlements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby, islice

import pytest

from mutants.mutant import mutant
from mutants.planted.features import every_consumer_active
from mutants.worlds import with_feature
from reference_broker.core.channel import settlement
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.rotation import ConsumerRotation, PriorityRings
from reference_broker.core.work.task import Steps

# Turns


@mutant("liveness", worlds=with_feature("consumers"), showed_at=13)
def nobody_takes_over_who_is_cancelled(patch: pytest.MonkeyPatch) -> None:
    remove = ConsumerRotation.remove

    def without_successor(self: ConsumerRotation, consumer: Consumer) -> bool:
        waiting = self._waiting
        if waiting is not None and consumer is self.active:
            self._waiting = PriorityRings()
        removed = remove(self, consumer)
        self._waiting = waiting
        return removed

    patch.setattr(ConsumerRotation, "remove", without_successor)


@mutant("consumers", worlds=with_feature("consumers"), showed_at=3)
def the_newest_takes_over(patch: pytest.MonkeyPatch) -> None:
    remove = ConsumerRotation.remove

    def newest_first(self: ConsumerRotation, consumer: Consumer) -> bool:
        waiting = self._waiting
        if waiting is not None and waiting.first is not None and consumer is self.active:
            newest = list(waiting.first)[-1]
            self._waiting, others = PriorityRings(), list(waiting.first)[:-1]
            for each in (newest, *others):
                self._waiting.add(each)
        return remove(self, consumer)

    patch.setattr(ConsumerRotation, "remove", newest_first)


@mutant("consumers", worlds=with_feature("consumers"))
def all_of_the_consumers_are_active(patch: pytest.MonkeyPatch) -> None:
    every_consumer_active.plant(patch)


# Room


@mutant("consumers", worlds=with_feature("consumers"))
def recover_is_answered_last(patch: pytest.MonkeyPatch) -> None:
    """The messages come again before it, and with it the client forgets them."""

    def last(channel: Channel, answer: Callable[[], None]) -> Steps:
        by_tag: dict[int, Lease] = {}
        yield from settlement.take_range(channel, settlement._last_tag(channel), by_tag)
        yield from settlement._settled_by(settlement.requeue_all, channel, by_tag)
        answer()

    patch.setattr(settlement, "_recover", last)


@mutant("liveness", "channel books", worlds=with_feature("consumers"))
def only_one_consumer_has_its_room_again(patch: pytest.MonkeyPatch) -> None:
    """After a settlement over several."""

    def first_only(leases: Iterable[Lease]) -> None:
        for holder, its_leases in islice(groupby(leases, settlement._holder), 1):
            holder.settled(len(list(its_leases)))

    patch.setattr(settlement, "note_settled", first_only)


@mutant("prefetch")
def a_consumer_has_one_too_many(patch: pytest.MonkeyPatch) -> None:
    room = Consumer.room
    patch.setattr(Consumer, "room", lambda self: room(self) + 1)
    patch.setattr(
        Consumer,
        "capacity",
        lambda self: self.no_ack or self.outstanding <= self._prefetch_limit,
    )


@mutant("prefetch")
def a_settlement_gives_room_twice(patch: pytest.MonkeyPatch) -> None:
    settled = Consumer.settled

    def twice(self: Consumer, count: int = 1) -> None:
        settled(self, min(2 * count, self.outstanding))

    patch.setattr(Consumer, "settled", twice)
