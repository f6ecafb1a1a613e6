"""Comparing what is wanted with what is there."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology.planning.diff import Change, ChangeKind, Difference, canonical, diff
from mqkit.topology.snapshot import LiveQueue, Snapshot


def compare(desired: Declaration, *actual: Declaration) -> Change:
    return diff([desired], Snapshot.of("/", actual))[0]


@pytest.mark.parametrize(
    "declaration", [Exchange("x"), Queue("q", arguments={"x-a": 1}), Binding("x", "q", "k")]
)
def test_missing_and_same(declaration: Declaration) -> None:
    assert compare(declaration).kind is ChangeKind.MISSING
    assert compare(declaration, declaration).kind is ChangeKind.SAME


@pytest.mark.parametrize(
    ("desired", "actual", "difference"),
    [
        (Exchange("x", "topic"), Exchange("x"), Difference("type", "topic", "direct")),
        (Queue("q"), Queue("q", durable=False), Difference("durable", True, False)),
        (Queue("q", arguments={"x-a": 1}), Queue("q"), Difference("x-a", 1, None)),
        (Queue("q"), Queue("q", arguments={"x-a": 1}), Difference("x-a", None, 1)),
        (
            Queue("q", arguments={"x-a": 1}),
            Queue("q", arguments={"x-a": True}),
            Difference("x-a", 1, True),
        ),
        (
            Queue("q"),
            Queue("q", arguments={"x-queue-type": "quorum"}),
            Difference("x-queue-type", None, "quorum"),
        ),
    ],
)
def test_different(desired: Declaration, actual: Declaration, difference: Difference) -> None:
    change = compare(desired, actual)
    assert change.kind is ChangeKind.DIFFERENT
    assert change.differences == (difference,)


def test_a_difference_reads_well() -> None:
    assert str(Difference("x-max-length", 5, None)) == "x-max-length: is not set, wanted 5"


def test_the_classic_type_is_the_same_as_no_type() -> None:
    assert (
        compare(Queue("q"), Queue("q", arguments={"x-queue-type": "classic"})).kind
        is ChangeKind.SAME
    )


def test_bindings_are_the_same_only_with_equal_key_and_arguments() -> None:
    live = Binding("x", "q", "k", arguments={"a": 1, "b": 2})
    assert compare(Binding("x", "q", "k", arguments={"b": 2, "a": 1}), live).kind is ChangeKind.SAME
    for other in (Binding("x", "q", "k"), Binding("x", "q", "k", True, live.arguments)):
        assert compare(other, live).kind is ChangeKind.MISSING


def test_extras_come_last_and_private_queues_are_none() -> None:
    actual = Snapshot(
        "/",
        (Exchange("x"),),
        (LiveQueue(Queue("mine", exclusive=True)), LiveQueue(Queue("q"))),
        (Binding("x", "mine"), Binding("x", "q")),
    )
    changes = diff([Queue("new")], actual)
    assert [(change.kind, change.declaration) for change in changes] == [
        (ChangeKind.MISSING, Queue("new")),
        (ChangeKind.EXTRA, Exchange("x")),
        (ChangeKind.EXTRA, Queue("q")),
        (ChangeKind.EXTRA, Binding("x", "q")),
    ]


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ({"a": 1, "b": [1.0]}, {"b": [1], "a": 1}, True),
        ("1", 1, False),
        (None, False, False),
    ],
)
def test_field_table_values(left: Any, right: Any, equal: bool) -> None:
    assert (canonical(left) == canonical(right)) is equal
