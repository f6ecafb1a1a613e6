from __future__ import annotations

from typing import Any

import pytest

from interop.differential.administration import SetPolicy
from interop.differential.lockstep import Difference
from interop.differential.on_purpose import OnPurpose
from interop.differential.on_purpose import reason_for as reason_in
from interop.differential.operation import Call, Operation, Publish, Rest, Sequence
from mqkit.wire import Properties
from mqkit.wire.methods import BasicPublish, QueueDeclare

CRASH = ("connection.close", 541, "INTERNAL_ERROR", 0, 0)
REFUSAL = ("channel.close", 406, "PRECONDITION_FAILED - unsupported queue type 'nope'", 50, 10)

EXPIRATION = "original-expiration"


def reason_for(difference: Difference, *operations: Operation) -> OnPurpose | None:
    return reason_in(difference, Sequence(operations))


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


ERROR = ("connection.close", 530, "NOT_ALLOWED", 60, 20)
TTL = Call(1, QueueDeclare("q0", arguments={"x-message-ttl": 20}))


def left(*counts: int, reply: Any = ERROR) -> dict[str, Any]:
    """The state of a broker whose queues q0, q1 and so on have so many messages left."""
    queues = {f"q{n}": ("queue.declare-ok", f"q{n}", each, 0) for n, each in enumerate(counts)}
    return {"replies": {(0, 0): [reply]}, "queues": queues}


def test_fewer_messages_are_known_only_where_both_closed_the_connection() -> None:
    entry = reason_for(Difference(7, None, left(1), left(2)), TTL)
    assert entry is not None
    assert "expired" in entry.name
    assert reason_for(Difference(7, None, left(2), left(1)), TTL) is None
    refused = left(1, reply=REFUSAL), left(2, reply=REFUSAL)
    assert reason_for(Difference(7, None, *refused), TTL) is None
    assert reason_for(Difference(7, None, left(1), refused[1]), TTL) is None
    gone = {**left(1), "queues": {"q0": ("channel.close", 404, "NOT_FOUND", 50, 10)}}
    assert reason_for(Difference(7, None, gone, left(2)), TTL) is None


@pytest.mark.parametrize(
    ("operation", "known"),
    [
        (TTL, True),
        (Call(1, QueueDeclare("q1", arguments={"x-message-ttl": 20})), False),
        (Call(1, QueueDeclare("", arguments={"x-message-ttl": 20})), False),
        (Call(1, QueueDeclare("q0", arguments={"x-max-length": 1})), False),
        (Publish(1, BasicPublish("", "q1"), Properties(expiration="20")), True),
        (Publish(1, BasicPublish("", "q0"), Properties()), False),
        (SetPolicy("p", "^q0$", "queues", 0, {"message-ttl": 20}), True),
        (SetPolicy("p", "^q1$", "queues", 0, {"message-ttl": 20}), False),
        (SetPolicy("p", "^q0$", "queues", 0, {"max-length": 2}), False),
    ],
)
def test_fewer_messages_are_known_only_where_some_may_have_expired(
    operation: Operation, known: bool
) -> None:
    seen = Difference(0, None, left(1), left(2))
    assert (reason_for(seen, operation) is not None) is known
    assert reason_for(seen, Rest(0.0), operation) is None  # which came after the difference
    assert reason_for(Difference(0, None, left(1, 1), left(2, 2)), TTL) is None
    assert reason_for(Difference(0, None, left(1, 3), left(2, 2)), TTL) is not None


def test_a_queue_without_a_name_of_its_own_may_expire_what_it_has() -> None:
    queues = [{"<queue 1>": ("queue.declare-ok", "<queue 1>", count, 0)} for count in (1, 2)]
    there, here = ({"replies": {(0, 0): [ERROR]}, "queues": each} for each in queues)
    declared = Call(1, QueueDeclare("", arguments={"x-message-ttl": 20}))
    assert reason_for(Difference(0, None, there, here), declared) is not None
    assert reason_for(Difference(0, None, there, here), TTL) is None
