"""Finding rings, and matching topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.topology.cycles import find_cycles, topic_matches

names = st.sampled_from("abcdef")
graphs = st.dictionaries(names, st.lists(names, max_size=4).map(tuple))


def reaches_itself(graph: dict[str, tuple[str, ...]], start: str) -> bool:
    reached, waiting = set(), list(graph.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph.get(name, ())
    return start in reached


@given(graphs)
def test_a_cycle_is_found_exactly_when_a_name_reaches_itself(
    graph: dict[str, tuple[str, ...]],
) -> None:
    cycles = find_cycles(graph)
    assert bool(cycles) == any(reaches_itself(graph, name) for name in graph)
    for cycle in cycles:
        for here, there in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert there in graph[here]


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("a.#", "a", True),
        ("#.b", "b", True),
        ("#.b", "x.b.b", True),
        ("a.#.b", "a.b", True),
        ("a.*.#", "a.x", True),
        ("a.*.#", "a", False),
        ("#", "", True),
        ("", "", True),
        ("*", "", False),
        ("*.late", "SFO.late", True),
        ("*.late", "late", False),
        ("a.b", "a.b.c", False),
        ("a.#.c.#", "a.b.c", True),
    ],
)
def test_topics(pattern: str, key: str, matches: bool) -> None:
    assert topic_matches(pattern, key) is matches
