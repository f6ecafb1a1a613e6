"""A file's policies beside a broker's, and what is in force by them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mqkit.topology import ChangeKind, Snapshot, Wanted, compare, compile_topology, loads
from mqkit.topology.planning.step import name_of
from mqkit.topology.policy.comparing import policy_differences
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

PLAIN = "queues: {q: {max_length: 100, overflow: drop-head}}"
OWN = "queues: {q: {max_length: 100, overflow: drop-head, via_policy: [max_length]}}"


def wide(**definition: Any) -> PolicyModel:
    keys = {key.replace("_", "-"): value for key, value in definition.items()}
    return PolicyModel("wide", "", ApplyTo.ALL, 0, keys)


def compared(text: str, **live: Any) -> dict[str, tuple[ChangeKind, list[str]]]:
    """Each object's name, with the kind of its change and the differences in words."""
    topology = loads(text)
    actual = replace(Snapshot.of("/", compile_topology(topology)), **live)
    changes = compare(Wanted.of(topology, actual.policies), actual)
    return {name_of(it.declaration): (it.kind, list(map(str, it.differences))) for it in changes}


def test_a_policy_that_lowers_a_limit_makes_a_queue_different() -> None:
    found = compared(PLAIN, policies=(wide(max_length=30),))
    assert found == {
        "q": (ChangeKind.DIFFERENT, ["max-length in force: is 30 (policy 'wide'), wanted 100"]),
        "wide": (ChangeKind.EXTRA, []),
    }


def test_a_policy_that_raises_a_limit_or_has_what_is_an_argument_changes_nothing() -> None:
    found = compared(PLAIN, policies=(wide(max_length=300, overflow="reject-publish"),))
    assert found["q"] == (ChangeKind.SAME, [])


def test_an_operator_policy_lowers_too() -> None:
    found = compared(PLAIN, operator_policies=(wide(max_length=30, expires=5),))
    assert found["q"][1] == [
        "max-length in force: is 30 (operator policy 'wide'), wanted 100",
        "expires in force: is 5 (operator policy 'wide'), wanted not set",
    ]


def test_where_a_queue_lies_is_no_difference() -> None:
    found = compared(PLAIN, policies=(wide(ha_mode="all", queue_mode="lazy"),))
    assert found["q"] == (ChangeKind.SAME, [])


def test_what_the_file_s_own_policies_bring_into_force_is_wanted() -> None:
    text = PLAIN + "\npolicies: {wide: {pattern: '', definition: {max-length: 30}}}"
    assert {kind for kind, _ in compared(text, policies=(wide(max_length=30),)).values()} == {
        ChangeKind.SAME
    }
    found = compared(text)
    assert found["wide"] == (ChangeKind.MISSING, [])
    assert found["q"][1] == ["max-length in force: is 100 (argument x-max-length), wanted 30"]


def test_a_policy_of_a_queue_s_own() -> None:
    own = PolicyModel("q.policy", "^q$", ApplyTo.QUEUES, 0, {"max-length": 100})
    assert compared(OWN, policies=(own,)) == {
        "q": (ChangeKind.SAME, []),
        "q.policy": (ChangeKind.SAME, []),
    }
    found = compared(OWN, policies=(replace(own, definition={"max-length": 7}),))
    assert found["q.policy"] == (ChangeKind.DIFFERENT, ["max-length: is 7, wanted 100"])
    assert found["q"][1] == ["max-length in force: is 7 (policy 'q.policy'), wanted 100"]


def test_the_alternate_of_an_exchange_may_come_from_a_policy() -> None:
    text = "exchanges: {x: {}}"
    found = compared(text, policies=(wide(alternate_exchange="lost"),))
    assert found["x"][1] == [
        "alternate-exchange in force: is 'lost' (policy 'wide'), wanted not set"
    ]


def test_every_property_of_a_policy_counts() -> None:
    one = PolicyModel("p", "^a", ApplyTo.QUEUES, 0, {"max-length": 1, "expires": 2})
    other = PolicyModel("p", "^b", ApplyTo.ALL, 1, {"max-length": 1.0, "message-ttl": 3})
    assert list(map(str, policy_differences(one, other))) == [
        "pattern: is '^b', wanted '^a'",
        "apply_to: is 'all', wanted 'queues'",
        "priority: is 1, wanted 0",
        "expires: is not set, wanted 2",
        "message-ttl: is 3, wanted not set",
    ]
    assert policy_differences(one, one) == ()
