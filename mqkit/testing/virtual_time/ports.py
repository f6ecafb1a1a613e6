"""The broker, as far as a clock has to know it that must not be moved while messages are on their
way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Held:
    """A message that a consumer has got and not settled yet. ``key`` is its delivery's own."""

    key: tuple[int, int, int]
    consumer_tag: str
    words: str


@dataclass(frozen=True, slots=True)
class Look:
    """The virtual host of a test at one moment. ``activity`` is another number after anything has
    come or gone; ``unread`` says who has left octets of the broker unread, empty for nobody."""

    is_idle: bool
    activity: int
    held: tuple[Held, ...]
    unread: str = ""


class TimedBroker(Protocol):
    """The broker's half of virtual time. Its methods block, and are for every thread but the
    broker's."""

    def stop_clock(self) -> int:
        """Have the wall clock stand still; returns its milliseconds since 1970. Idempotent."""
        ...

    def run_clock(self) -> None:
        """Have it run on."""
        ...

    def next_ms(self) -> int | None:
        """The time at which more is due; ``None`` for never."""
        ...

    def move_to(self, time_ms: int) -> None:
        """Move the wall clock, and begin what is due by then."""
        ...

    def look(self) -> Look:
        """The virtual host, once all that clients had sent is read."""
        ...
