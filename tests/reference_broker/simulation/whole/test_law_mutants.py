"""Bugs that a user notices within a minute, planted: the laws of marks, priorities, books of
channels, alarms, times and of clients that wait must find each.

As in ``test_store_mutants.py``, a bug is made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.confirms import ChannelConfirms
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.channel.transactions import Transaction
from reference_broker.core.exchange.delayed_messages import HeldUntilDue
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.index.priority import PriorityLevels
from reference_broker.core.queue import fan_out
from reference_broker.core.queue.death import DeathReason
from reference_broker.core.queue.delayed_returns import DelayedReturns, StoredDelays
from reference_broker.core.queue.expiry import MessageExpiry
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.task import Steps
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.report import SeedResult, WorldFactory
from reference_broker.simulation.world import World
from reference_broker.store import Log
from reference_broker.store.start.fold import Fold
from reference_broker.store.start.recovered import DamageReport

SEEDS = range(200)
DURATION_US = 20_000_000

SHOWED_AT = {
    "letters_in_doubt_come_as_new": 2, "returns_are_not_logged": 11,
    "footers_forget_what_waits": 18, "restored_levels_are_upside_down": 13,
    "restored_levels_come_as_they_were_found": 13,
    "a_torn_end_is_called_damage": 44, "what_expires_is_called_lost": 2,
    "deleted_segments_are_missed": 1, "a_start_forgets_what_expires": 15,
    "what_waits_after_a_start_waits_for_ever": 6, "a_get_of_what_is_on_disk_is_not_answered": 25,
    "a_shorter_delay_waits_for_a_longer_one": 4, "a_commit_acks_first": 30,
    "a_confirm_for_a_suspended_channel_is_dropped": 8,
}  # fmt: skip
"""Seeds at which a bug showed, for those that take long to find: these are looked at first."""

Plant = Callable[[pytest.MonkeyPatch], WorldFactory | None]
"""Plants one bug, and gives the worlds in which it shows; ``None`` where it does in small ones."""
Find = Callable[[str, Sequence[int], WorldFactory | None], SeedResult]


def with_feature(name: str) -> WorldFactory:
    """Small worlds in which the feature is at work."""

    def make(seed: int) -> World:
        return World(with_features(replace(draw(seed, DURATION_US), bit_rot=False), [name]))

    return make


# Marks


def letters_in_doubt_come_as_new(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fan_out, "is_in_doubt", lambda source: False)


def returns_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "requeue", lambda self, queue_id, sequence, position: None)


def footers_forget_what_waits(patch: pytest.MonkeyPatch) -> WorldFactory:
    """A message that waits out a requeue delay is written as new."""
    patch.setattr(StoredDelays, "mark", lambda self, columns: columns)
    return with_feature("requeues")


# Priorities


def restored_levels_are_upside_down(patch: pytest.MonkeyPatch) -> None:
    adopt = PriorityLevels.adopt

    def reversed_(self: PriorityLevels, level: int, index: QueueIndex) -> None:
        adopt(self, level, index)
        self._highest_first.reverse()

    patch.setattr(PriorityLevels, "adopt", reversed_)


def restored_levels_come_as_they_were_found(patch: pytest.MonkeyPatch) -> None:
    adopt = PriorityLevels.adopt

    def at_the_front(self: PriorityLevels, level: int, index: QueueIndex) -> None:
        adopt(self, level, index)
        self._highest_first.remove(index)
        self._highest_first.insert(0, index)

    patch.setattr(PriorityLevels, "adopt", at_the_front)


# Books of channels


def a_multiple_ack_frees_one_too_few(patch: pytest.MonkeyPatch) -> None:
    settled = Consumer.settled
    patch.setattr(Consumer, "settled", lambda self, count=1: settled(self, max(1, count - 1)))


def a_multiple_ack_frees_the_consumer_alone(patch: pytest.MonkeyPatch) -> None:
    settled = Consumer.settled

    def without_the_channel(self: Consumer, count: int = 1) -> None:
        settled(self, count)
        self.channel.outstanding += count > 1

    patch.setattr(Consumer, "settled", without_the_channel)


def a_rollback_keeps_its_bytes(patch: pytest.MonkeyPatch) -> WorldFactory:
    def forget(self: Transaction) -> None:
        self._size = self.unacked = 0

    patch.setattr(Transaction, "_forget", forget)
    return with_feature("transactions")


# Alarms


def a_torn_end_is_called_damage(patch: pytest.MonkeyPatch) -> None:
    damaged = property(lambda self: bool(self.damaged_files or self.cut_bytes))
    patch.setattr(DamageReport, "damaged", damaged)


def what_expires_is_called_lost(patch: pytest.MonkeyPatch) -> None:
    drop_head = Queue.drop_head

    def lost(self: Queue, index: QueueIndex, reason: DeathReason) -> bool:
        dropped = drop_head(self, index, reason)
        self.lost += dropped and reason is DeathReason.EXPIRED
        return dropped

    patch.setattr(Queue, "drop_head", lost)


def deleted_segments_are_missed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Fold, "_removed", lambda self, found, use: None)


# Times


def a_start_forgets_what_expires(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MessageExpiry, "restored", lambda self: None)


def a_shorter_delay_waits_for_a_longer_one(patch: pytest.MonkeyPatch) -> WorldFactory:
    watch_next = HeldUntilDue._watch_next

    def once(self: HeldUntilDue) -> None:
        if self._deadline is None or not self._deadline.pending:
            watch_next(self)
        self.watching = True

    patch.setattr(HeldUntilDue, "_watch_next", once)
    return with_feature("delayed")


def what_waits_after_a_start_waits_for_ever(patch: pytest.MonkeyPatch) -> WorldFactory:
    restored = DelayedReturns.restored

    def unarmed(self: DelayedReturns) -> None:
        with pytest.MonkeyPatch.context() as there:
            there.setattr(DelayedReturns, "_arm", lambda self: None)
            restored(self)

    patch.setattr(DelayedReturns, "restored", unarmed)
    return with_feature("requeues")


# Clients that wait


def a_get_of_what_is_on_disk_is_not_answered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Channel, "_head_has_come", lambda self: None)


def a_confirm_for_a_suspended_channel_is_dropped(patch: pytest.MonkeyPatch) -> None:
    send = ChannelConfirms._send

    def if_open(self: ChannelConfirms, method: Any) -> None:
        if self._channel.state is ChannelState.OPEN:
            send(self, method)

    patch.setattr(ChannelConfirms, "_send", if_open)


# Transactions


def a_commit_acks_first(patch: pytest.MonkeyPatch) -> WorldFactory:
    """And what it publishes is logged in another turn."""
    commit = Transaction.commit

    def upside_down(self: Transaction) -> Steps:
        publishes, self._publishes = self._publishes, []
        size, self._size = self._size, 0
        yield from commit(self)
        yield None
        self._publishes, self._size = publishes, size
        yield from commit(self)

    patch.setattr(Transaction, "commit", upside_down)
    return with_feature("transactions")


FOUND_BY: dict[str, tuple[Plant, ...]] = {
    "redelivered": (letters_in_doubt_come_as_new, returns_are_not_logged),
    "requeues": (footers_forget_what_waits,),
    "priority": (restored_levels_are_upside_down, restored_levels_come_as_they_were_found),
    "channel books": (a_multiple_ack_frees_one_too_few, a_multiple_ack_frees_the_consumer_alone,
        a_rollback_keeps_its_bytes),
    "false alarm": (a_torn_end_is_called_damage, what_expires_is_called_lost,
        deleted_segments_are_missed),
    "lateness": (a_start_forgets_what_expires, a_shorter_delay_waits_for_a_longer_one,
        what_waits_after_a_start_waits_for_ever),
    "liveness": (a_get_of_what_is_on_disk_is_not_answered,
        a_confirm_for_a_suspended_channel_is_dropped),
    "transactions": (a_commit_acks_first,),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "law"),
    [(plant, law) for law, plants in FOUND_BY.items() for plant in plants],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_found_by_its_law(
    plant: Plant, law: str, monkeypatch: pytest.MonkeyPatch, find: Find
) -> None:
    at = SHOWED_AT.get(plant.__name__, 0)
    find(law, [*SEEDS[at:], *SEEDS[:at]], plant(monkeypatch))
