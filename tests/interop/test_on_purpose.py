from __future__ import annotations

from typing import Any

from interop.differential.lockstep import Difference
from interop.differential.on_purpose import reason_for

CRASH = ("connection.close", 541, "INTERNAL_ERROR", 0, 0)
REFUSAL = ("channel.close", 406, "PRECONDITION_FAILED - unsupported queue type 'nope'", 50, 10)

EXPIRATION = "original-expiration"


def difference(there: Any, here: Any) -> Difference:
    replies = [{"replies": {(1, 0): [reply]}} for reply in (there, here)]
    return Difference(0, None, *replies)


def test_a_known_difference_has_its_reason() -> None:
    entry = reason_for(difference(CRASH, REFUSAL))
    assert entry is not None
    assert entry.name == "queue without a name, of an unknown type"


def test_it_is_known_only_as_both_sides_have_it() -> None:
    assert reason_for(difference(REFUSAL, CRASH)) is None
    assert reason_for(difference(CRASH, ("queue.declare-ok", "q0", 0, 0))) is None
    assert reason_for(Difference(0, None, [("q0", "a message")], [])) is None


def test_a_field_that_is_missing_there_is_known_and_nothing_else() -> None:
    theirs, ours = {"x-death": [{"count": 1}]}, {"x-death": [{"count": 1, EXPIRATION: "20"}]}
    entry = reason_for(Difference(3, None, [("q0", theirs)], [("q0", ours)]))
    assert entry is not None
    assert EXPIRATION in entry.name
    assert reason_for(Difference(3, None, [("q0", ours)], [("q0", theirs)])) is None
    assert reason_for(Difference(3, None, [("q1", theirs)], [("q0", ours)])) is None
    assert reason_for(Difference(3, None, [], [("q0", ours)])) is None


def test_fewer_messages_are_known_only_where_both_closed_the_connection() -> None:
    def seen(left: int, reply: Any) -> dict[str, Any]:
        return {"replies": {(0, 0): [reply]}, "queues": {"q0": ("queue.declare-ok", "q0", left, 0)}}

    error = ("connection.close", 530, "NOT_ALLOWED", 60, 20)
    entry = reason_for(Difference(7, None, seen(1, error), seen(2, error)))
    assert entry is not None
    assert "expired" in entry.name
    assert reason_for(Difference(7, None, seen(2, error), seen(1, error))) is None
    assert reason_for(Difference(7, None, seen(1, REFUSAL), seen(2, REFUSAL))) is None
    assert reason_for(Difference(7, None, seen(1, error), seen(2, REFUSAL))) is None
    gone = {**seen(1, error), "queues": {"q0": ("channel.close", 404, "NOT_FOUND", 50, 10)}}
    assert reason_for(Difference(7, None, gone, seen(2, error))) is None
