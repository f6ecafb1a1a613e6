"""The one list of intended differences between the reference broker and RabbitMQ 3.10.8.

A sequence that comes to such a place ends there, as equal: what follows has another state on each
broker. docs/compatibility.md has a row for every entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from interop.differential.administration import SetPolicy
from interop.differential.lockstep import Difference
from interop.differential.operation import QUEUES, Call, Operation, Publish, Sequence
from mqkit.wire import Properties
from mqkit.wire.methods import QueueDeclare

Operations: TypeAlias = tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class OnPurpose:
    """A difference, both sides of it, why it is one, and how it is recognised: by what is there, by
    what is here, and by the operations that led to it."""

    name: str
    rabbitmq: str
    ours: str
    reason: str
    is_it: Callable[[Any, Any, Operations], bool]


def _closed(code: int, text: str, scope: str) -> Callable[[Any], bool]:
    def is_there(seen: Any) -> bool:
        return any(
            reply[0] == f"{scope}.close" and reply[1] == code and text in reply[2]
            for reply in _replies(seen)
        )

    return is_there


def _both(
    there: Callable[[Any], bool], here: Callable[[Any], bool]
) -> Callable[[Any, Any, Operations], bool]:
    return lambda theirs, ours, _: there(theirs) and here(ours)


def _only_lacks(key: str) -> Callable[[Any, Any, Operations], bool]:
    """A test that theirs is ours without some of the fields of this name."""

    def lacks(theirs: Any, ours: Any) -> bool:
        match theirs, ours:
            case dict(), dict():
                missing = ours.keys() - theirs.keys()
                return (
                    missing <= {key}
                    and theirs.keys() <= ours.keys()
                    and all(lacks(theirs[name], ours[name]) for name in theirs)
                )
            case (list(), list()) | (tuple(), tuple()):
                return len(theirs) == len(ours) and all(map(lacks, theirs, ours))
        return bool(theirs == ours)

    return lambda theirs, ours, _: lacks(theirs, ours)


def _fewer_after_an_error(theirs: Any, ours: Any, operations: Operations) -> bool:
    """True if both ended the connection alike, and queues have fewer messages there since: all of
    them queues in which something may have expired."""
    match theirs, ours:
        case {"queues": dict() as there, **more}, {"queues": dict() as here, **same}:
            closed = any(r[0] == "connection.close" and r[1] >= 500 for r in _replies(ours))
            if not closed or more != same or there.keys() != here.keys():
                return False
            shorter = [name for name in here if _is_shorter(there[name], here[name])]
            return bool(shorter) and all(may_expire(operations, name) for name in shorter)
    return False


def may_expire(operations: Operations, queue: str) -> bool:
    """True if messages in ``queue`` may have had a time to live: by the queue's arguments, by a
    policy, or by their own, with which they may have come to any queue."""
    return any(_gives_time(operation, queue) for operation in operations)


def _gives_time(operation: Operation, queue: str) -> bool:
    match operation:
        case Publish(properties=Properties(expiration=expiration)):
            return expiration is not None
        case Call(method=QueueDeclare(queue=name, arguments=arguments)):
            # A name that a broker has chosen is none that a sequence knows.
            is_meant = queue == name if name else queue not in QUEUES
            return is_meant and "x-message-ttl" in arguments
        case SetPolicy(pattern=pattern, definition=definition):
            return "message-ttl" in definition and re.search(pattern, queue) is not None
    return False


def _is_shorter(theirs: Any, ours: Any) -> bool:
    both_there = theirs[0] == ours[0] == "queue.declare-ok"
    return both_there and bool(theirs[2] < ours[2])


ON_PURPOSE = (
    OnPurpose(
        "unknown exchange type",
        "503 COMMAND_INVALID, the connection is closed",
        "406 PRECONDITION_FAILED, the channel is closed",
        "as RabbitMQ 4.x",
        _both(
            # "unknown exchange type", or "invalid ..." once its node has met the word elsewhere
            _closed(503, "exchange type", "connection"),
            _closed(406, "unknown exchange type", "channel"),
        ),
    ),
    OnPurpose(
        "queue without a name, of an unknown type",
        "541 INTERNAL_ERROR, the connection is closed",
        "406 PRECONDITION_FAILED, the channel is closed",
        "as both answer a queue with a name",
        _both(
            _closed(541, "INTERNAL_ERROR", "connection"),
            _closed(406, "unsupported queue type", "channel"),
        ),
    ),
    OnPurpose(
        "`original-expiration` of a message that was on disk only",
        "not in its `x-death` (lazy queues)",
        "in it",
        "where a message was kept is no business of who reads it",
        _only_lacks("original-expiration"),
    ),
    OnPurpose(
        "messages of a channel whose mistake ends the connection, others behind them expired",
        "the connection's other channels have them for a moment, so the others go",
        "all are given back at once, and expire when they are the head",
        "nobody could handle what comes then",
        _fewer_after_an_error,
    ),
)


def reason_for(difference: Difference, sequence: Sequence) -> OnPurpose | None:
    """The entry that a difference in ``sequence`` belongs to."""
    there, here = difference.there, difference.here
    operations = sequence.operations[: difference.number + 1]
    return next((entry for entry in ON_PURPOSE if entry.is_it(there, here, operations)), None)


def _replies(seen: Any) -> list[Any]:
    if not isinstance(seen, dict):
        return []
    return [reply for replies in seen.get("replies", {}).values() for reply in replies]


def as_table() -> str:
    """The list as docs/compatibility.md has it."""
    head = "| difference | RabbitMQ 3.10.8 | reference broker | why |\n|---|---|---|---|"
    rows = [f"| {e.name} | {e.rabbitmq} | {e.ours} | {e.reason} |" for e in ON_PURPOSE]
    return "\n".join([head, *rows])
