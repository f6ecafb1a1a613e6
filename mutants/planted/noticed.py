"""Bugs that a user notices within a minute."""

from __future__ import annotations

from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import where_the_clock_is_set, with_feature
from reference_broker.core.base.wall_clock import WallClock
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
from reference_broker.store import Log
from reference_broker.store.start.fold import Fold
from reference_broker.store.start.recovered import DamageReport

# Marks


@mutant("redelivered", showed_at=83)
def letters_in_doubt_come_as_new(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fan_out, "is_in_doubt", lambda source: False)


@mutant("redelivered")
def returns_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "requeue", lambda self, queue_id, sequence, position: None)


@mutant("requeues", worlds=with_feature("requeues"), showed_at=19)
def footers_forget_what_waits(patch: pytest.MonkeyPatch) -> None:
    """A message that waits out a requeue delay is written as new."""
    patch.setattr(StoredDelays, "mark", lambda self, columns: columns)


# Priorities


@mutant("priority", showed_at=4)
def restored_levels_are_upside_down(patch: pytest.MonkeyPatch) -> None:
    adopt = PriorityLevels.adopt

    def reversed_(self: PriorityLevels, level: int, index: QueueIndex) -> None:
        adopt(self, level, index)
        self._highest_first.reverse()

    patch.setattr(PriorityLevels, "adopt", reversed_)


@mutant("priority", showed_at=4)
def restored_levels_come_as_they_were_found(patch: pytest.MonkeyPatch) -> None:
    adopt = PriorityLevels.adopt

    def at_the_front(self: PriorityLevels, level: int, index: QueueIndex) -> None:
        adopt(self, level, index)
        self._highest_first.remove(index)
        self._highest_first.insert(0, index)

    patch.setattr(PriorityLevels, "adopt", at_the_front)


@mutant("priority", showed_at=13)
def low_levels_are_served_first(patch: pytest.MonkeyPatch) -> None:
    def upside_down(self: PriorityLevels, priority: int) -> int:
        return self.max_priority - min(priority, self.max_priority)

    patch.setattr(PriorityLevels, "level_of", upside_down)


# Books of channels


@mutant("channel books")
def a_multiple_ack_frees_one_too_few(patch: pytest.MonkeyPatch) -> None:
    settled = Consumer.settled
    patch.setattr(Consumer, "settled", lambda self, count=1: settled(self, max(1, count - 1)))


@mutant("channel books")
def a_multiple_ack_frees_the_consumer_alone(patch: pytest.MonkeyPatch) -> None:
    settled = Consumer.settled

    def without_the_channel(self: Consumer, count: int = 1) -> None:
        settled(self, count)
        self.channel.outstanding += count > 1

    patch.setattr(Consumer, "settled", without_the_channel)


@mutant("channel books", worlds=with_feature("transactions"))
def a_rollback_keeps_its_bytes(patch: pytest.MonkeyPatch) -> None:
    def forget(self: Transaction) -> None:
        self._size = self.unacked = 0

    patch.setattr(Transaction, "_forget", forget)


# Alarms


@mutant("false alarm", showed_at=26)
def a_torn_end_is_called_damage(patch: pytest.MonkeyPatch) -> None:
    damaged = property(lambda self: bool(self.damaged_files or self.cut_bytes))
    patch.setattr(DamageReport, "damaged", damaged)


@mutant("false alarm", showed_at=2)
def what_expires_is_called_lost(patch: pytest.MonkeyPatch) -> None:
    drop_head = Queue.drop_head

    def lost(self: Queue, index: QueueIndex, reason: DeathReason) -> bool:
        dropped = drop_head(self, index, reason)
        self.lost += dropped and reason is DeathReason.EXPIRED
        return dropped

    patch.setattr(Queue, "drop_head", lost)


@mutant("false alarm", showed_at=1)
def deleted_segments_are_missed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Fold, "_removed", lambda self, found, use: None)


# Times


@mutant("lateness", showed_at=5)
def a_start_forgets_what_expires(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MessageExpiry, "restored", lambda self: None)


@mutant("lateness", worlds=with_feature("delayed"), showed_at=21)
def a_shorter_delay_waits_for_a_longer_one(patch: pytest.MonkeyPatch) -> None:
    watch_next = HeldUntilDue._watch_next

    def once(self: HeldUntilDue) -> None:
        if self._deadline is None or not self._deadline.pending:
            watch_next(self)
        self.watching = True

    patch.setattr(HeldUntilDue, "_watch_next", once)


@mutant("lateness", worlds=with_feature("requeues"), showed_at=38)
def what_waits_after_a_start_waits_for_ever(patch: pytest.MonkeyPatch) -> None:
    restored = DelayedReturns.restored

    def unarmed(self: DelayedReturns) -> None:
        with pytest.MonkeyPatch.context() as there:
            there.setattr(DelayedReturns, "_arm", lambda self: None)
            restored(self)

    patch.setattr(DelayedReturns, "restored", unarmed)


# Clients that wait


@mutant("liveness", showed_at=3)
def a_get_of_what_is_on_disk_is_not_answered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Channel, "_head_has_come", lambda self: None)


@mutant("liveness", showed_at=3)
def a_confirm_for_a_suspended_channel_is_dropped(patch: pytest.MonkeyPatch) -> None:
    send = ChannelConfirms._send

    def if_open(self: ChannelConfirms, method: Any) -> None:
        if self._channel.state is ChannelState.OPEN:
            send(self, method)

    patch.setattr(ChannelConfirms, "_send", if_open)


# Transactions


@mutant("transactions", worlds=with_feature("transactions"), showed_at=95)
def a_commit_acks_first(patch: pytest.MonkeyPatch) -> None:
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


# Clocks that are set


@mutant(
    *("durability", "x-death", "expiry", "lateness", "delayed", "expires", "windows"),
    worlds=where_the_clock_is_set,
)
def the_machine_s_clock_is_followed_at_once(patch: pytest.MonkeyPatch) -> None:
    """Whoever sets it an hour ahead ends every TTL of the next hour."""
    patch.setattr(WallClock, "at", lambda self, mono_s: self._system_us() // 1_000)


@mutant("expiry", "lateness", worlds=where_the_clock_is_set)
def the_machine_s_clock_is_waited_for(patch: pytest.MonkeyPatch) -> None:
    """Set back, it is waited for: the broker's clock stands still, as it must not go back."""

    def no_later(self: WallClock, mono_s: float) -> int:
        now_ms = max(self._system_us() // 1_000, self._offset_us)
        self._offset_us = now_ms
        return now_ms

    init = WallClock.__init__

    def begin(self: WallClock, *given: Any, **named: Any) -> None:
        init(self, *given, **named)
        self._offset_us = self._system_us() // 1_000

    patch.setattr(WallClock, "__init__", begin)
    patch.setattr(WallClock, "at", no_later)
