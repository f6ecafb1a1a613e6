"""Topologies of Python values: the same as a file's, and faults by path."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import TopologyError
from mqkit.topology.file.document import MAX_DEPTH, MAX_NODES
from mqkit.topology.file.read import loads
from mqkit.topology.file.values import topology_of
from mqkit.topology.model import QueueType


def refusal(**sections: Any) -> str:
    with pytest.raises(TopologyError) as error:
        topology_of(sections)
    return str(error.value)


def test_values_are_what_a_file_with_them_says() -> None:
    text = """
vhost: /shop
exchanges: {mail: {type: topic, delays: [5m]}}
queues:
  email: {bind: [{from: mail, key: "#"}], retry: {from: 1s, times: 3, jitter: 0.5}}
  plain:
"""
    values = {
        "vhost": "/shop",
        "exchanges": {"mail": {"type": "topic", "delays": ("5m",)}},
        "queues": OrderedDict(
            email={
                "bind": [{"from": "mail", "key": "#"}],
                "retry": {"from": "1s", "times": 3, "jitter": 0.5},
            },
            plain=None,
        ),
    }
    assert topology_of(values) == loads(text)


def test_text_has_no_variables_and_is_no_number() -> None:
    (queue,) = topology_of({"queues": {"${Q}": {"arguments": {"x-a": "5", "x-b": 5}}}}).queues
    assert queue.name == "${Q}"
    assert queue.arguments == {"x-a": "5", "x-b": 5}


def test_members_of_enumerations_are_their_text() -> None:
    (queue,) = topology_of({"queues": {"q": {"type": QueueType.QUORUM}}}).queues
    assert queue.type is QueueType.QUORUM


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        ({"q": {"max_lenght": 5}}, "queues.q: unknown key 'max_lenght' (did you mean"),
        ({"q": {"expires": 5}}, "queues.q.expires: 5 is not a duration"),
        ({"a.b": {"type": b"x"}}, "queues.'a.b'.type: a 'bytes' (expected text, a number"),
        ({"q": {"bind": [{}, object()]}}, "queues.q.bind[1]: a 'object' (expected"),
        ({5: {}}, "queues: the key 5 is not text"),
        ({"q": {"arguments": {"x": "\ud800"}}}, "queues.q.arguments.x: half of a surrogate pair"),
        ({"\ud800": {}}, "queues: half of a surrogate pair"),
        ({"q": {"max_length": 1 << 65}}, "queues.q.max_length: a number of more than 64 bits"),
        ({"q": {"max_length": 10**5000}}, "queues.q.max_length: a number of more than 64 bits"),
        ([], "queues: a list is not a mapping of queue names to queues"),
    ],
)
def test_a_fault_has_its_path_and_no_line(queues: Any, said: str) -> None:
    assert refusal(queues=queues).startswith(f"Topology.of: {said}")


def test_every_fault_is_told() -> None:
    told = refusal(queues={"a": {"typ": 1}, "b": {"expires": "soon"}}, exchanges={"c": 5})
    assert [line.split(": ")[1] for line in told.splitlines()] == [
        "exchanges.c",
        "queues.a",
        "queues.b.expires",
    ]


def test_a_list_that_contains_itself_ends() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert f"nested deeper than {MAX_DEPTH} levels" in refusal(queues={"q": {"arguments": ring}})


def test_the_bound_on_values() -> None:
    wide = [0] * MAX_NODES
    assert f"more than {MAX_NODES} values" in refusal(queues={"q": {"bind": wide}})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
        max_leaves=20,
    )
)
def test_nothing_raises_but_a_topology_error(value: Any) -> None:
    for sections in ({"queues": value}, {"queues": {"q": value}, "exchanges": {"e": value}}):
        with suppress(TopologyError):
            topology_of(sections)
