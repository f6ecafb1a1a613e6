"""Bugs in what the broker does beyond queues and acks, and in its books."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import with_feature
from reference_broker.core.access import access_definition
from reference_broker.core.channel.transactions import Transaction
from reference_broker.core.exchange import delayed_messages
from reference_broker.core.exchange.deduplication_window import DeduplicationWindow
from reference_broker.core.exchange.delayed_messages import HeldUntilDue
from reference_broker.core.message import delay_header
from reference_broker.core.message.content import Content
from reference_broker.core.policy import policy_definition
from reference_broker.core.policy.policy import Policy
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.queue import enqueue
from reference_broker.core.queue.death import Death
from reference_broker.core.queue.delayed_returns import DelayedReturns
from reference_broker.core.queue.delivery_counts import DeliveryCounts
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.rotation import ConsumerRotation
from reference_broker.core.vhost import policies
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.vhost.virtual_hosts import VirtualHosts
from reference_broker.core.work.task import Steps
from reference_broker.store.liveness.liveness import Liveness, SegmentUse

# Books


@mutant("books")
def acked_bytes_booked_short(patch: pytest.MonkeyPatch) -> None:
    """One byte of each ack is forgotten: its segment is never quite empty."""
    settle = Liveness.settle

    def nearly(self: Liveness, position: int, stored: int) -> SegmentUse | None:
        return settle(self, position, stored - 1)

    patch.setattr(Liveness, "settle", nearly)


@mutant("books")
def headers_accounted_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Those of dead messages."""
    buried = Queue.buried

    def keep(self: Queue, death: Death, *, moved: bool = False) -> None:
        buried(self, death, moved=moved)
        self.header_bytes += len(death.content.header)

    patch.setattr(Queue, "buried", keep)


# Features


@mutant("books", worlds=with_feature("quorum"))
def transient_message_booked_as_stored(patch: pytest.MonkeyPatch) -> None:
    """A classic queue takes a message that a quorum queue has stored for one of its own entries."""
    store = enqueue.store

    def shared(*given: Any) -> None:
        with pytest.MonkeyPatch.context() as there:
            there.setattr(Content, "again", lambda self: self)
            store(*given)

    patch.setattr(enqueue, "store", shared)


@mutant("quorum", worlds=with_feature("quorum"))
def returns_not_counted_in_the_log(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DeliveryCounts, "restore", lambda self, sequence, counts: None)


@mutant("quorum", worlds=with_feature("quorum"), showed_at=3)
def no_delivery_limit(patch: pytest.MonkeyPatch) -> None:
    returned = DeliveryCounts.returned

    def always(self: DeliveryCounts, sequence: int, *, failed: bool) -> bool:
        if not returned(self, sequence, failed=failed):
            counts = self.of(sequence)
            self._keep(sequence, counts._replace(failed=counts.failed + 1))
        return True

    patch.setattr(DeliveryCounts, "returned", always)


@mutant("quorum", worlds=with_feature("quorum"))
def every_consumer_active(patch: pytest.MonkeyPatch) -> None:
    init = ConsumerRotation.__init__
    patch.setattr(ConsumerRotation, "__init__", lambda self, single_active: init(self))


@mutant("delayed", worlds=with_feature("delayed"))
def released_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delayed_messages, "delay_ms", lambda headers: delay_header.delay_ms(headers) // 2)


@mutant("delayed", worlds=with_feature("delayed"))
def released_and_kept(patch: pytest.MonkeyPatch) -> None:
    """The log is not told that a delayed message has left."""
    release = HeldUntilDue._release

    def keep(self: HeldUntilDue, sequence: int) -> None:
        journal = self._queue.env.journal
        with pytest.MonkeyPatch.context() as there:
            there.setattr(journal, "move", lambda *given: journal.publish(given[4], given[5]))
            release(self, sequence)

    patch.setattr(HeldUntilDue, "_release", keep)


@mutant("windows", worlds=with_feature("windows"))
def window_forgotten_by_recovery(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DeduplicationWindow, "restored", lambda self: None)


@mutant("transactions", worlds=with_feature("transactions"))
def rollback_commits(patch: pytest.MonkeyPatch) -> None:
    def commit(self: Transaction) -> None:
        assert all(until is None for until in self.commit())

    patch.setattr(Transaction, "rollback", commit)


@mutant("transactions", worlds=with_feature("transactions"))
def commit_drops_its_last_message(patch: pytest.MonkeyPatch) -> None:
    commit = Transaction.commit

    def all_but_one(self: Transaction) -> Steps:
        del self._publishes[1:]
        yield from commit(self)

    patch.setattr(Transaction, "commit", all_but_one)


@mutant("requeues", worlds=with_feature("requeues"), showed_at=1)
def requeued_without_delay(patch: pytest.MonkeyPatch) -> None:
    hold = DelayedReturns.hold

    def shortly(self: DelayedReturns, index: Any, sequence: int, content: Any, ms: int) -> None:
        hold(self, index, sequence, content, 1)

    patch.setattr(DelayedReturns, "hold", shortly)


@mutant("policies", worlds=with_feature("policies"))
def policy_not_logged(patch: pytest.MonkeyPatch) -> None:
    """But the first one is."""
    encode = policy_definition.encode_policy
    stored: dict[str, bytes] = {}

    def first(policy: Policy) -> bytes:
        return stored.setdefault(policy.name, encode(policy))

    patch.setattr(policies, "encode_policy", first)


@mutant("vhosts", worlds=with_feature("vhosts"))
def vhost_deleted_in_name_only(patch: pytest.MonkeyPatch) -> None:
    """Its connections are closed, and everything in it stays."""

    def nothing(self: VirtualHosts, vhost: VHost) -> Steps:
        yield from ()

    patch.setattr(VirtualHosts, "remove", nothing)


@mutant("vhosts", worlds=with_feature("vhosts"))
def a_deleted_vhost_leaves_its_queues_in_the_log(patch: pytest.MonkeyPatch) -> None:
    """They are found by the next one of its name, after a start."""

    def remove(self: VirtualHosts, vhost: VHost) -> Steps:
        yield from vhost.policies.drop_all()
        del self.by_name[vhost.name]
        key = access_definition.key_of(access_definition.VHOST, vhost.name)
        self._definitions.forget(key)
        for queue in vhost.queues.values():
            queue.end()

    patch.setattr(VirtualHosts, "remove", remove)


# As many for each feature as a law needs to be believed


@mutant("policies", worlds=with_feature("policies"))
def policies_forgotten_by_a_start(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policies.Policies, "restore", lambda self, definitions: None)


@mutant("policies", worlds=with_feature("policies"))
def dead_letters_of_a_policy_are_dropped(patch: pytest.MonkeyPatch) -> None:
    """A queue takes the limit of a policy, and not the exchange for what is beyond it."""
    parse = PolicyWish.parse

    def without_target(kind: Any, name: str, value: dict[str, Any]) -> Any:
        left = {
            key: each
            for key, each in value["definition"].items()
            if not key.startswith("dead-letter")
        }
        return parse(kind, name, {**value, "definition": left})

    patch.setattr(PolicyWish, "parse", staticmethod(without_target))


@mutant("vhosts", "books", worlds=with_feature("vhosts"))
def a_deleted_vhost_is_only_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Nothing is logged of its end."""

    def forget(self: VirtualHosts, vhost: VHost) -> Steps:
        del self.by_name[vhost.name]
        yield from ()

    patch.setattr(VirtualHosts, "remove", forget)


@mutant("windows", worlds=with_feature("windows"))
def a_key_is_forgotten_with_its_message(patch: pytest.MonkeyPatch) -> None:
    """The window has half of its time."""
    stamp = DeduplicationWindow.stamp

    def half(self: DeduplicationWindow, *given: Any) -> int:
        now_ms = self.queue.env.moment.wall_ms
        return now_ms + (stamp(self, *given) - now_ms) // 2

    patch.setattr(DeduplicationWindow, "stamp", half)


@mutant("windows", worlds=with_feature("windows"))
def every_third_repetition_gets_in(patch: pytest.MonkeyPatch) -> None:
    knows, turns = DeduplicationWindow.knows, cycle((True, True, False))

    def mostly(self: DeduplicationWindow, message: Any) -> bool | None:
        known = knows(self, message)
        return known and next(turns)

    patch.setattr(DeduplicationWindow, "knows", mostly)


@mutant("delayed", worlds=with_feature("delayed"))
def delays_end_with_the_broker(patch: pytest.MonkeyPatch) -> None:
    """A start releases what it finds."""

    def at_once(self: HeldUntilDue, sequence: int) -> int | None:
        due_ms = due_of(self, sequence)
        return due_ms if due_ms is None or not self._restored_ms else self._restored_ms

    due_of = HeldUntilDue._due_of
    patch.setattr(HeldUntilDue, "_due_of", at_once)


@mutant("requeues", worlds=with_feature("requeues"))
def delays_are_a_tenth_too_short(patch: pytest.MonkeyPatch) -> None:
    hold = DelayedReturns.hold

    def shorter(self: DelayedReturns, index: Any, sequence: int, content: Any, ms: int) -> None:
        hold(self, index, sequence, content, ms - ms // 10)

    patch.setattr(DelayedReturns, "hold", shorter)
