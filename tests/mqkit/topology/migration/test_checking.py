"""The check before a migration: what it would do, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import ConfigurationError
from mqkit.retry.compile import UNLIMITED_DELIVERIES
from mqkit.topology import LiveQueue, Snapshot, Topology
from mqkit.topology.live.product import REFERENCE_BROKER, Product
from mqkit.topology.migration.checking import Checked, check_migration
from mqkit.topology.migration.migration import Held, Migration
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

BINDING = Binding("shop", "orders", "order.#")
QUORUM = {"x-queue-type": "quorum"}


def file(**keys: Any) -> Topology:
    bind = [{"from": "shop", "key": "order.#"}]
    return Topology.of(
        exchanges={"shop": {"external": True}},
        queues={"orders": {"bind": bind, **keys}},  # type: ignore[dict-item]
    )


def broker(*more: LiveQueue, old: LiveQueue | None = None, **keys: Any) -> Snapshot:
    queues = (old or LiveQueue(Queue("orders"), 5, 1), *more)
    return Snapshot("/", (Exchange("shop", "topic"),), queues, (BINDING,), **keys)


def policy(pattern: str, **definition: Any) -> PolicyModel:
    keys = {key.replace("_", "-"): value for key, value in definition.items()}
    return PolicyModel("p", pattern, ApplyTo.QUEUES, 0, keys)


def tier(name: str, consumers: int = 0, **keys: Any) -> LiveQueue:
    back = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders"}
    return LiveQueue(Queue(name, arguments={"x-message-ttl": 9, **back, **keys}), 3, consumers)


def migration(checked: Checked) -> Migration:
    assert checked.refusals == ()
    assert checked.migration is not None
    return checked.migration


def test_a_queue_as_the_file_says_needs_none() -> None:
    assert check_migration(file(), broker(), "orders") == Checked()


def test_a_migration_has_both_queues_and_the_bindings() -> None:
    checked = check_migration(file(type="quorum"), broker(), "orders")
    found = migration(checked)
    assert (found.old, found.wanted) == (Queue("orders"), Queue("orders", arguments=QUORUM))
    assert found.bindings == (BINDING,)
    assert [difference.field for difference in checked.differences] == ["x-queue-type"]


def test_the_temporary_queue_is_replicated_if_one_of_the_two_is() -> None:
    kept = {**QUORUM, "x-delivery-limit": UNLIMITED_DELIVERIES}
    there = migration(check_migration(file(type="quorum"), broker(), "orders"))
    old = LiveQueue(Queue("orders", arguments=QUORUM))
    back = migration(check_migration(file(), broker(old=old), "orders"))
    assert there.temporary == back.temporary == Queue("orders.migrating", arguments=kept)


def test_it_has_the_dead_letters_of_the_old_queue_and_none_of_its_limits() -> None:
    dead = {"x-dead-letter-exchange": "shop", "x-dead-letter-routing-key": "dead"}
    limits = {"x-max-length": 7, "x-message-ttl": 1000, "x-expires": 5000}
    old = LiveQueue(Queue("orders", arguments={**limits, **dead}), 5)
    assert migration(check_migration(file(), broker(old=old), "orders")).temporary == Queue(
        "orders.migrating", arguments=dead
    )


def test_it_takes_the_dead_letters_of_a_policy() -> None:
    snapshot = broker(policies=(policy("^orders$", dead_letter_exchange="shop"),))
    found = migration(check_migration(file(max_priority=3), snapshot, "orders"))
    assert found.temporary.arguments == {"x-dead-letter-exchange": "shop"}


def test_a_queue_that_rejects_is_filled_with_confirms() -> None:
    wanted = file(max_length=9, overflow="reject-publish")
    found = migration(check_migration(wanted, broker(), "orders"))
    assert (found.old_rejects, found.wanted_rejects) == (False, True)
    snapshot = broker(policies=(policy("^orders$", overflow="reject-publish-dlx"),))
    found = migration(check_migration(file(max_priority=3), snapshot, "orders"))
    assert (found.old_rejects, found.wanted_rejects) == (True, True)


def test_a_tier_is_held() -> None:
    wait = tier("orders.wait")
    found = migration(check_migration(file(type="quorum"), broker(wait), "orders"))
    assert found.held == (Held(wait.queue, Queue("orders.wait.migrating")),)


def test_a_tier_by_policy_is_held_too() -> None:
    wait = LiveQueue(Queue("wait"), 1, 0)
    by = policy("^wait$", dead_letter_exchange="", dead_letter_routing_key="orders")
    found = migration(check_migration(file(type="quorum"), broker(wait, policies=(by,)), "orders"))
    assert [held.queue.name for held in found.held] == ["wait"]


@pytest.mark.parametrize(
    ("more", "bindings", "why"),
    [
        (tier("work", consumers=2), (), "'work' is consumed (by 2)"),
        (tier("work"), (Binding("shop", "work", "k"),), "'work' is bound to 'shop'"),
    ],
)
def test_a_queue_at_work_that_dead_letters_by_name_is_accepted_with_gap_only(
    more: LiveQueue, bindings: tuple[Binding, ...], why: str
) -> None:
    snapshot = broker(more)
    snapshot = Snapshot("/", snapshot.exchanges, snapshot.queues, (BINDING, *bindings))
    refused = check_migration(file(type="quorum"), snapshot, "orders")
    assert refused.migration is None
    assert why in refused.refusals[0]
    assert "--gap" in refused.refusals[0]
    accepted = check_migration(file(type="quorum"), snapshot, "orders", gap=True)
    assert migration(accepted).held == ()
    assert why in accepted.in_the_gap[0]


@pytest.mark.parametrize(
    ("old", "keys", "why"),
    [
        (Queue("orders", auto_delete=True), {}, "deletes itself"),
        (Queue("orders", exclusive=True), {}, "exclusive"),
        (Queue("orders"), {"auto_delete": True}, "deletes itself"),
        (Queue("orders", arguments={"x-queue-type": "stream"}), {}, "is a stream"),
        (Queue("orders"), {"type": "stream"}, "is a stream"),
        (Queue("orders"), {"max_length": 4, "overflow": "drop-head"}, "has 5 messages"),
        (
            Queue("orders"),
            {"dead_letter": {"exchange": "", "key": "nowhere"}},
            "'nowhere', which is not there",
        ),
    ],
)
def test_what_would_lose_is_refused(old: Queue, keys: dict[str, Any], why: str) -> None:
    if "dead_letter" in keys:
        wanted = Topology.of(
            exchanges={"shop": {"external": True}},
            queues={"orders": keys, "nowhere": {"external": True}},  # type: ignore[dict-item]
        )
    else:
        wanted = file(**keys)
    checked = check_migration(wanted, broker(old=LiveQueue(old, 5)), "orders", gap=True)
    assert checked.migration is None
    assert [refusal for refusal in checked.refusals if why in refusal]


def test_a_policy_that_would_limit_what_waits_is_refused() -> None:
    snapshot = broker(tier("orders.wait"), policies=(policy("^orders", message_ttl=1000),))
    refusals = check_migration(file(type="quorum"), snapshot, "orders").refusals
    assert len(refusals) == 2
    assert "policy 'p' puts message-ttl on 'orders.migrating'" in refusals[0]
    assert "'orders.wait.migrating'" in refusals[1]
    exact = broker(policies=(policy("^orders$", message_ttl=1000),))
    assert check_migration(file(type="quorum"), exact, "orders").refusals == ()


def test_a_limit_of_an_operator_s_policy_counts() -> None:
    snapshot = broker(operator_policies=(policy("^orders$", max_length=4),))
    (refusal,) = check_migration(file(max_priority=3), snapshot, "orders").refusals
    assert "operator policy 'p' allows 4" in refusal


def test_names_that_are_taken_are_refused() -> None:
    snapshot = broker(LiveQueue(Queue("orders.migrating")))
    (refusal,) = check_migration(file(type="quorum"), snapshot, "orders").refusals
    assert "--journal" in refusal
    gate = Exchange("orders.migrating.gate", "fanout")
    snapshot = Snapshot("/", (gate,), broker().queues, (BINDING,))
    (refusal,) = check_migration(file(type="quorum"), snapshot, "orders").refusals
    assert "'orders.migrating.gate'" in refusal


def test_what_the_product_refuses_is_refused() -> None:
    wanted = file(type="quorum", arguments={"x-max-priority": 3})
    snapshot = broker(product=Product(REFERENCE_BROKER))
    (refusal,) = check_migration(wanted, snapshot, "orders").refusals
    assert "would refuse the queue of the file" in refusal


def test_a_queue_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"no queue 'other' in Topology\.of"):
        check_migration(file(), broker(), "other")
    with pytest.raises(ConfigurationError, match="apply` declares it"):
        check_migration(file(), Snapshot("/"), "orders")
    somebodys = Topology.of(queues={"orders": {"external": True}})
    with pytest.raises(ConfigurationError, match="is external"):
        check_migration(somebodys, broker(), "orders")
