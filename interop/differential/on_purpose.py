"""Where the reference broker differs from RabbitMQ 3.10.8 on purpose: the one list.

A sequence that comes to such a place ends there, as equal: what follows has another state on each
broker. docs/compatibility.md has a row for every entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interop.differential.lockstep import Difference


@dataclass(frozen=True, slots=True)
class OnPurpose:
    """A difference, both sides of it, why it is one, and how it is recognised."""

    name: str
    rabbitmq: str
    ours: str
    reason: str
    is_it: Callable[[Any, Any], bool]


def _closed(code: int, text: str, scope: str) -> Callable[[Any], bool]:
    def is_there(seen: Any) -> bool:
        return any(
            reply[0] == f"{scope}.close" and reply[1] == code and text in reply[2]
            for reply in _replies(seen)
        )

    return is_there


def _both(there: Callable[[Any], bool], here: Callable[[Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda theirs, ours: there(theirs) and here(ours)


def _only_lacks(key: str) -> Callable[[Any, Any], bool]:
    """Whether theirs is ours without some of the fields of this name."""

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

    return lacks


def _fewer_after_an_error(theirs: Any, ours: Any) -> bool:
    """Whether both ended the connection alike, and a queue has fewer messages there since."""
    match theirs, ours:
        case {"queues": dict() as there, **more}, {"queues": dict() as here, **same}:
            closed = any(r[0] == "connection.close" and r[1] >= 500 for r in _replies(ours))
            return (
                closed
                and more == same
                and there.keys() == here.keys()
                and any(_is_shorter(there[name], here[name]) for name in here)
            )
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


def reason_for(difference: Difference) -> OnPurpose | None:
    """The entry that a difference belongs to."""
    there, here = difference.there, difference.here
    return next((entry for entry in ON_PURPOSE if entry.is_it(there, here)), None)


def _replies(seen: Any) -> list[Any]:
    if not isinstance(seen, dict):
        return []
    return [reply for replies in seen.get("replies", {}).values() for reply in replies]


def as_table() -> str:
    """The list as docs/compatibility.md has it."""
    head = "| difference | RabbitMQ 3.10.8 | reference broker | why |\n|---|---|---|---|"
    rows = [f"| {e.name} | {e.rabbitmq} | {e.ours} | {e.reason} |" for e in ON_PURPOSE]
    return "\n".join([head, *rows])
