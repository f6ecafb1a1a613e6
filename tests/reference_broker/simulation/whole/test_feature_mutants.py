"""Bugs planted in what the broker does beyond queues and acks, and in its books: the feature's laws
or the books find each.

As in ``test_store_mutants.py``, a bug is made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from reference_broker.core.channel.transactions import Transaction
from reference_broker.core.exchange import delayed_messages
from reference_broker.core.exchange.deduplication_window import DeduplicationWindow
from reference_broker.core.exchange.delayed_messages import HeldUntilDue
from reference_broker.core.message import delay_header
from reference_broker.core.message.content import Content
from reference_broker.core.policy import policy_definition
from reference_broker.core.policy.policy import Policy
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
from reference_broker.simulation.clients.features import FEATURES
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.report import SeedResult, WorldFactory
from reference_broker.simulation.world import World
from reference_broker.store.liveness.liveness import Liveness, SegmentUse

SEEDS = range(60)
DURATION_US = 20_000_000

Plant = Callable[[pytest.MonkeyPatch], WorldFactory | None]
"""Plants one bug, and gives the worlds in which it shows; ``None`` where it does in small ones."""
Find = Callable[[str, Sequence[int], WorldFactory | None], SeedResult]


# Books


def acked_bytes_booked_short(patch: pytest.MonkeyPatch) -> None:
    """One byte of each ack is forgotten: its segment is never quite empty."""
    settle = Liveness.settle

    def nearly(self: Liveness, position: int, stored: int) -> SegmentUse | None:
        return settle(self, position, stored - 1)

    patch.setattr(Liveness, "settle", nearly)


def headers_accounted_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Those of dead messages."""

    def buried(self: Queue, death: Death) -> None:
        self.index_of(death.sequence).settle(death.sequence)

    patch.setattr(Queue, "buried", buried)


# Features


def with_feature(name: str) -> WorldFactory:
    """Small worlds in which the feature is at work."""

    def make(seed: int) -> World:
        return World(with_features(replace(draw(seed, DURATION_US), bit_rot=False), [name]))

    return make


def transient_message_booked_as_stored(patch: pytest.MonkeyPatch) -> WorldFactory:
    """A classic queue takes a message that a quorum queue has stored for one of its own entries."""
    store = enqueue.store

    def shared(*given: Any) -> None:
        with pytest.MonkeyPatch.context() as there:
            there.setattr(Content, "again", lambda self: self)
            store(*given)

    patch.setattr(enqueue, "store", shared)
    return with_feature("quorum")


def returns_not_counted_in_the_log(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(DeliveryCounts, "restore", lambda self, sequence, counts: None)
    return with_feature("quorum")


def no_delivery_limit(patch: pytest.MonkeyPatch) -> WorldFactory:
    returned = DeliveryCounts.returned

    def always(self: DeliveryCounts, sequence: int, *, failed: bool) -> bool:
        if not returned(self, sequence, failed=failed):
            counts = self.of(sequence)
            self._keep(sequence, counts._replace(failed=counts.failed + 1))
        return True

    patch.setattr(DeliveryCounts, "returned", always)
    return with_feature("quorum")


def every_consumer_active(patch: pytest.MonkeyPatch) -> WorldFactory:
    init = ConsumerRotation.__init__
    patch.setattr(ConsumerRotation, "__init__", lambda self, single_active: init(self))
    return with_feature("quorum")


def released_early(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(delayed_messages, "delay_ms", lambda headers: delay_header.delay_ms(headers) // 2)
    return with_feature("delayed")


def released_and_kept(patch: pytest.MonkeyPatch) -> WorldFactory:
    """The log is not told that a delayed message has left."""
    release = HeldUntilDue._release

    def keep(self: HeldUntilDue, sequence: int) -> None:
        journal = self._queue.env.journal
        with pytest.MonkeyPatch.context() as there:
            there.setattr(journal, "move", lambda *given: journal.publish(given[4], given[5]))
            release(self, sequence)

    patch.setattr(HeldUntilDue, "_release", keep)
    return with_feature("delayed")


def window_forgotten_by_recovery(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(DeduplicationWindow, "restored", lambda self: None)
    return with_feature("windows")


def rollback_commits(patch: pytest.MonkeyPatch) -> WorldFactory:
    def commit(self: Transaction) -> None:
        assert all(until is None for until in self.commit())

    patch.setattr(Transaction, "rollback", commit)
    return with_feature("transactions")


def commit_drops_its_last_message(patch: pytest.MonkeyPatch) -> WorldFactory:
    commit = Transaction.commit

    def all_but_one(self: Transaction) -> Steps:
        del self._publishes[1:]
        yield from commit(self)

    patch.setattr(Transaction, "commit", all_but_one)
    return with_feature("transactions")


def requeued_without_delay(patch: pytest.MonkeyPatch) -> WorldFactory:
    hold = DelayedReturns.hold

    def shortly(self: DelayedReturns, index: Any, sequence: int, content: Any, ms: int) -> None:
        hold(self, index, sequence, content, 1)

    patch.setattr(DelayedReturns, "hold", shortly)
    return with_feature("requeues")


def policy_not_logged(patch: pytest.MonkeyPatch) -> WorldFactory:
    """But the first one is."""
    encode = policy_definition.encode_policy
    stored: dict[str, bytes] = {}

    def first(policy: Policy) -> bytes:
        return stored.setdefault(policy.name, encode(policy))

    patch.setattr(policies, "encode_policy", first)
    return with_feature("policies")


def vhost_deleted_in_name_only(patch: pytest.MonkeyPatch) -> WorldFactory:
    """Its connections are closed, and everything in it stays."""

    def nothing(self: VirtualHosts, vhost: VHost) -> Steps:
        yield from ()

    patch.setattr(VirtualHosts, "remove", nothing)
    return with_feature("vhosts")


FOUND_BY: dict[str, tuple[Plant, ...]] = {
    "books": (
        acked_bytes_booked_short,
        headers_accounted_for_ever,
        transient_message_booked_as_stored,
    ),
    "quorum": (returns_not_counted_in_the_log, no_delivery_limit, every_consumer_active),
    "delayed": (released_early, released_and_kept),
    "windows": (window_forgotten_by_recovery,),
    "transactions": (rollback_commits, commit_drops_its_last_message),
    "requeues": (requeued_without_delay,),
    "policies": (policy_not_logged,),
    "vhosts": (vhost_deleted_in_name_only,),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "law"),
    [(plant, law) for law, plants in FOUND_BY.items() for plant in plants],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_found(
    plant: Plant, law: str, monkeypatch: pytest.MonkeyPatch, find: Find
) -> None:
    find(law, SEEDS, plant(monkeypatch))


@pytest.mark.parametrize("name", list(FEATURES))
def test_what_is_planted_here_is_the_only_thing_wrong(name: str) -> None:
    make = with_feature(name)
    for seed in range(3):
        world = make(seed)
        world.run()
        ledger = world.features[0].feature.ledger
        assert any(post.confirmed_ms is not None for post in ledger.posts.values())
