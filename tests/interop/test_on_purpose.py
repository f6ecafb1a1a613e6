from __future__ import annotations

from typing import Any

from interop.differential.lockstep import Difference
from interop.differential.on_purpose import reason_for

CRASH = ("connection.close", 541, "INTERNAL_ERROR", 0, 0)
REFUSAL = ("channel.close", 406, "PRECONDITION_FAILED - unsupported queue type 'nope'", 50, 10)


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
