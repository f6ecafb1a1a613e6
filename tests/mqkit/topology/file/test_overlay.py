"""One tree laid over another: what merges, what is replaced, and whose line a part keeps."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.topology.file.document import (
    MAX_ITEMS,
    MAX_NODES,
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    parse_document,
)
from mqkit.topology.file.line import Line, place
from mqkit.topology.file.overlay import overlay


def tree(text: str, rank: int) -> Node:
    root, faults = parse_document(text, lambda number: Line(number, rank, f"{rank}.yaml"))
    assert root is not None
    assert not faults
    return root


def laid(base: str, over: str) -> Node:
    root, faults = overlay(tree(base, 0), tree(over, 1))
    assert faults == []
    return root


def plain(node: Node) -> Any:
    match node:
        case ScalarNode(value=value):
            return value
        case SequenceNode(items=items):
            return [plain(item) for item in items]
        case MappingNode(entries=entries):
            return {entry.key: plain(entry.value) for entry in entries}


@pytest.mark.parametrize(
    ("base", "over", "both"),
    [
        ("{a: 1}", "{b: 2}", {"a": 1, "b": 2}),
        ("{a: 1}", "{a: 2}", {"a": 2}),
        ("{a: {b: 1, c: 2}}", "{a: {c: 3, d: 4}}", {"a": {"b": 1, "c": 3, "d": 4}}),
        ("{a: [1, 2]}", "{a: [3]}", {"a": [3]}),
        ("{a: [1, 2]}", "{a: {b: 3}}", {"a": {"b": 3}}),
        ("{a: {b: 3}}", "{a: [1]}", {"a": [1]}),
        ("{a: {b: 3}}", "{a: 5}", {"a": 5}),
        ("{a: {b: 3}}", "{a: }", {"a": {"b": 3}}),
        ("{a: {b: 3}}", "{a: {}}", {"a": {"b": 3}}),
        ("{a: }", "{a: {b: 3}}", {"a": {"b": 3}}),
        ("{a: 5}", "{a: }", {"a": None}),
        ("{a: 5}", "~", {"a": 5}),
        ("{z: 1, a: 1}", "{y: 1, a: 2}", {"z": 1, "a": 2, "y": 1}),
    ],
)
def test_mappings_merge_and_lists_and_scalars_are_replaced(
    base: str, over: str, both: object
) -> None:
    root = laid(base, over)
    assert plain(root) == both
    if isinstance(both, dict):
        assert list(plain(root)) == list(both)


def test_each_part_keeps_the_place_of_the_one_that_said_it() -> None:
    root = laid("queues:\n  q:\n    a: 1\n    b: 1\n", "\nqueues:\n  q:\n    b: 2\n    c: 2\n")
    places: dict[str, tuple[str, str]] = {}
    waiting = list(root.entries) if isinstance(root, MappingNode) else []
    while waiting:
        entry = waiting.pop()
        places[entry.key] = (place("", entry.line), place("", entry.value.line))
        if isinstance(entry.value, MappingNode):
            waiting += entry.value.entries
    assert places == {
        "queues": ("0.yaml:1", "0.yaml:2"),
        "q": ("0.yaml:2", "0.yaml:3"),
        "a": ("0.yaml:3", "0.yaml:3"),
        "b": ("1.yaml:4", "1.yaml:4"),
        "c": ("1.yaml:5", "1.yaml:5"),
    }


def many(count: int, prefix: str) -> Node:
    entries = tuple(Entry(f"{prefix}{n}", 1, ScalarNode(1, "", None)) for n in range(count))
    return MappingNode(1, entries, 1 + 2 * count)


def test_the_bound_on_items_counts_over_both() -> None:
    half = MAX_ITEMS // 2
    assert overlay(many(half, "a"), many(half, "b"))[1] == []
    (fault,) = overlay(many(half, "a"), many(half + 1, "b"))[1]
    assert f"more than {MAX_ITEMS}" in fault.message


def test_the_bound_on_values_counts_over_both() -> None:
    base = MappingNode(1, (), MAX_NODES - 1)
    assert overlay(base, MappingNode(1, (), 1))[1] == []
    (fault,) = overlay(base, MappingNode(1, (), 2))[1]
    assert f"more than {MAX_NODES} values" in fault.message
