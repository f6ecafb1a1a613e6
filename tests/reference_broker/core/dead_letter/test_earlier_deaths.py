"""The tables of an x-death as octets: whose they are, and whether a message would come back."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Typed, encode_table
from reference_broker.core.dead_letter.earlier_deaths import SEARCHES_MAX, UNREADABLE, EarlierDeaths
from reference_broker.core.queue.death import DeathReason

EXPIRED, REJECTED = DeathReason.EXPIRED, DeathReason.REJECTED
BEFORE = b"F\0\0\0\x0e\x05queueS\0\0\0\2q0"
"""In front of the tables, and not looked at."""


def died(*tables: Any) -> EarlierDeaths:
    values = encode_table({"": list(tables)})[4 + 1 + 5 :]
    return EarlierDeaths(BEFORE + values + BEFORE, len(BEFORE), len(BEFORE) + len(values))


def death(queue: Any, reason: Any = "expired", **more: Any) -> dict[str, Any]:
    return {"reason": reason, "queue": queue, **more}


def test_a_queue_is_found_by_name_and_reason() -> None:
    deaths = died(death("a"), death("b", "rejected"), death("b", count=Typed("l", 5)))
    (found,) = deaths.of("b", EXPIRED)
    assert found.table == death("b", count=Typed("l", 5))
    assert found.end == deaths.end
    assert deaths.of("a", REJECTED) == deaths.of("q0", EXPIRED) == deaths.of("c", EXPIRED) == []


@pytest.mark.parametrize(
    "other",
    [
        5,
        ["b"],
        death("a", key=Typed("S", b"\x05queueS\0\0\0\1b")),
        death("a", inner=death("b")),
        {"queue": "b"},
        death("b", b"expired"),
    ],
)
def test_what_only_looks_like_it_is_not_found(other: Any) -> None:
    assert died(other).of("b", EXPIRED) == []
    assert [found.table for found in died(other, death("b"), other).of("b", EXPIRED)] == [
        death("b")
    ]


def test_all_tables_of_one_queue_and_reason_are_found() -> None:
    assert len(died(death("b"), death("a"), death("b")).of("b", EXPIRED)) == 2


def test_a_table_that_cannot_be_read_is_told() -> None:
    octets = b"!" + encode_table(death("b"))
    with pytest.raises(UNREADABLE):
        EarlierDeaths(octets, 0, len(octets)).of("b", EXPIRED)


@pytest.mark.parametrize("searches", [0, SEARCHES_MAX], ids=["searched", "by a set"])
def test_a_queue_was_left_when_nobody_rejected_since(searches: int) -> None:
    deaths = died(death("a"), 5, death("b", "maxlen"), death("c", "rejected"), death("d"))
    for _ in range(searches):
        assert not deaths.has_left("z")
    answers = {queue: deaths.has_left(queue) for queue in ("a", "b", "c", "d", "e", "q0")}
    assert answers == {"a": True, "b": True, "c": False, "d": False, "e": False, "q0": False}


@pytest.mark.parametrize(
    "table",
    [
        death("a", key=Typed("S", b"\x05queueS\0\0\0\1b")),
        death(b"b"),
        {"reason": "expired"},
        {"reason": "expired", "x": death("b")},
    ],
)
def test_a_queue_that_only_seems_to_be_there_was_not_left(table: dict[str, Any]) -> None:
    assert not died(table).has_left("b")
    assert not died(table, death("b", "rejected")).has_left("b")
    assert died(table, death("b")).has_left("b")


def test_only_a_reason_that_is_text_is_a_rejection() -> None:
    assert died(death("a", b"rejected"), death("b")).has_left("b")
    assert died(death("a", key="\x06reasonS\0\0\0\x08rejected"), death("b")).has_left("b")


def test_a_history_ends_where_it_cannot_be_read() -> None:
    good = b"F" + encode_table(death("b"))
    deaths = EarlierDeaths(good + b"!" + good.replace(b"\1b", b"\1c"), 0, 2 * len(good) + 1)
    assert deaths.has_left("b")
    assert not deaths.has_left("c")


@pytest.mark.parametrize(
    ("history", "left"),
    [
        ([], False),
        ([("other", "expired")], False),
        ([("q", "expired")], True),
        ([("q", "maxlen"), ("other", "rejected")], True),
        ([("q", "rejected")], False),
        ([("other", "expired"), ("q", "expired")], True),
        ([("other", "rejected"), ("q", "expired")], False),
        ([("other", "expired"), ("q", "rejected")], False),
        ([("q", "rejected"), ("q", "expired")], False),
    ],
)
def test_a_cycle_is_one_that_nobody_rejected_in(history: list[tuple[str, str]], left: bool) -> None:
    assert died(*(death(*pair) for pair in history)).has_left("q") is left
