"""Marks of a message by which it is known again: its number, and the headers that the broker
added."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from mqkit.wire import PERSISTENT, Properties, decode_header
from reference_broker.simulation.events.events import DeathNote, Message

NUMBER_DIGITS = 10
"""Digits of the number in ``message_id``: the body may be empty."""


HEADERS_KEPT = 4_096
"""Headers whose marks are kept: each is looked at when it is delivered, and at each start."""


class Marks(NamedTuple):
    """The marks in a content header of a message of a simulated client."""

    number: int
    properties: Properties
    history: tuple[DeathNote, ...]
    first_death: tuple[str, str] | None
    last_death: tuple[str, str] | None

    @property
    def deaths(self) -> int:
        return sum(note.times for note in self.history)


def properties_of(message: Message, *, dead: bool = False) -> Properties:
    """The properties that a message is published with; or those that are left once it was
    ``dead``."""
    expires = message.expiration_ms is not None and not dead
    return Properties(
        delivery_mode=PERSISTENT if message.persistent else None,
        priority=message.priority,
        expiration=str(message.expiration_ms) if expires else None,
        message_id=f"{message.number:0{NUMBER_DIGITS}d}",
    )


@lru_cache(HEADERS_KEPT)
def marks_of(header: bytes) -> Marks:
    """The marks of a content header. Raises :exc:`ValueError` for one that no simulated client has
    made."""
    properties = decode_header(header)[1]
    headers = properties.headers or {}
    properties.headers = None
    tables = headers.get("x-death", [])
    history = tuple(DeathNote(each["queue"], each["reason"], each["count"]) for each in tables)
    return Marks(
        int(properties.message_id or ""),
        properties,
        history,
        _death(headers, "first"),
        _death(headers, "last"),
    )


def _death(headers: dict[str, Any], which: str) -> tuple[str, str] | None:
    queue = headers.get(f"x-{which}-death-queue")
    return None if queue is None else (queue, headers[f"x-{which}-death-reason"])
