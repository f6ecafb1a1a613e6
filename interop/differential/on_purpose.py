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
    is_it: Callable[[list[Any], list[Any]], bool]


def _closed(code: int, text: str, scope: str) -> Callable[[list[Any]], bool]:
    def is_there(replies: list[Any]) -> bool:
        return any(
            reply[0] == f"{scope}.close" and reply[1] == code and text in reply[2]
            for reply in replies
        )

    return is_there


def _both(
    there: Callable[[list[Any]], bool], here: Callable[[list[Any]], bool]
) -> Callable[[list[Any], list[Any]], bool]:
    return lambda theirs, ours: there(theirs) and here(ours)


ON_PURPOSE = (
    OnPurpose(
        "unknown exchange type",
        "503 COMMAND_INVALID, the connection is closed",
        "406 PRECONDITION_FAILED, the channel is closed",
        "as RabbitMQ 4.x",
        _both(
            _closed(503, "unknown exchange type", "connection"),
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
)


def reason_for(difference: Difference) -> OnPurpose | None:
    """The entry that a difference belongs to."""
    theirs, ours = (_replies(seen) for seen in (difference.there, difference.here))
    return next((entry for entry in ON_PURPOSE if entry.is_it(theirs, ours)), None)


def _replies(seen: Any) -> list[Any]:
    if not isinstance(seen, dict):
        return []
    return [reply for replies in seen.get("replies", {}).values() for reply in replies]


def as_table() -> str:
    """The list as docs/compatibility.md has it."""
    head = "| difference | RabbitMQ 3.10.8 | reference broker | why |\n|---|---|---|---|"
    rows = [f"| {e.name} | {e.rabbitmq} | {e.ours} | {e.reason} |" for e in ON_PURPOSE]
    return "\n".join([head, *rows])
