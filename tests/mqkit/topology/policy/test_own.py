"""A queue's own policy: its name, its pattern, and the keys that it takes along."""

from __future__ import annotations

import re

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from mqkit.topology import loads
from mqkit.topology.model import Topology
from mqkit.topology.policy.own import (
    compile_policies,
    is_own,
    own_name,
    own_pattern,
    owner_of,
)
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

LIMITED = "queues: {q: {max_length: 5, overflow: drop-head, via_policy: [max_length, overflow]}}"
WIDE = PolicyModel("wide", "", ApplyTo.ALL, 3, {"max-length": 9, "message-ttl": 60_000})


def own_of(topology: Topology, *live: PolicyModel) -> PolicyModel:
    return compile_policies(topology, live)[-1]


def test_the_listed_keys_are_in_the_policy() -> None:
    own = own_of(loads(LIMITED))
    assert own == PolicyModel(
        "q.policy", "^q$", ApplyTo.QUEUES, 0, {"max-length": 5, "overflow": "drop-head"}
    )
    assert is_own(own)
    assert owner_of(own) == "q"


def test_it_takes_along_what_it_masks_and_stands_above_it() -> None:
    own = own_of(loads(LIMITED), WIDE, PolicyModel("other", "^x", ApplyTo.ALL, 9, {"expires": 5}))
    assert own.priority == 4
    assert own.definition == {"max-length": 5, "message-ttl": 60_000, "overflow": "drop-head"}


def test_a_policy_of_the_file_stands_in_for_the_live_one_of_its_name() -> None:
    text = LIMITED + "\npolicies: {wide: {pattern: q, priority: 1, definition: {expires: 1}}}"
    own = own_of(loads(text), WIDE)
    assert (own.priority, own.definition["expires"]) == (2, 1)
    assert "message-ttl" not in own.definition


def test_the_broker_s_own_policy_of_the_queue_is_not_what_it_masks() -> None:
    """Or each apply would raise the priority by one."""
    first = own_of(loads(LIMITED), WIDE)
    assert own_of(loads(LIMITED), WIDE, first) == first


def test_what_a_retry_policy_adds_to_the_queue_may_be_listed_too() -> None:
    text = (
        "queues: {q: {max_length: 5, retry: {after: [1s]}, via_policy: [max_length, dead_letter]}}"
    )
    assert own_of(loads(text)).definition == {
        "max-length": 5,
        "dead-letter-exchange": "",
        "dead-letter-routing-key": "q.parked",
    }


def test_a_policy_of_that_name_with_another_pattern_is_somebody_s() -> None:
    assert not is_own(PolicyModel("q.policy", "^q"))
    assert not is_own(PolicyModel("q", "^q$"))


@pytest.mark.parametrize(
    "name", ["a.b", "x(1)", "[z]|{2}", "v$^", "tail\\", "späße", "a b#c", "*+?"]
)
def test_the_pattern_matches_this_name_alone(name: str) -> None:
    assert_exact(name, name + "x")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), min_size=1, max_size=12))
def test_the_pattern_of_any_name_matches_it_alone(name: str) -> None:
    assert_exact(name, name.swapcase() + ".")


def assert_exact(name: str, other: str) -> None:
    pattern = own_pattern(name)
    for engine in (re, re2):
        assert engine.search(pattern, name)
        assert not engine.search(pattern, other)
        assert not engine.search(pattern, "x" + name)
    assert own_name(name).startswith(name)
