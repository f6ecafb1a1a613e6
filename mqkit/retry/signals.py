"""Exceptions by which a handler asks for a settlement: retry later, park, drop; or for a stop.

These are not errors: they never leave the consumer. Any *other* exception of a handler means "try
again by the queue's retry policy".
"""

from __future__ import annotations

from datetime import timedelta

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import EXAMPLES, MAX_DURATION_MS, DurationText, parse_duration


class Signal(Exception):
    """The base of the four. ``reason`` ends in the message's headers, or in the log; an exception
    will do, and any other object: its text is taken."""

    def __init__(self, reason: object = "") -> None:
        self.reason = str(reason)
        super().__init__(self.reason)


class RetryLater(Signal):
    """Deliver the message again, not before ``after`` has passed.

    ``after`` is text like ``"30s"`` or a ``timedelta``; the shortest retry tier that is not shorter
    is taken, and an ``after`` longer than the last tier is refused. Without it, the next tier is
    taken. A ``RetryLater`` uses up one attempt like any other failure.
    """

    def __init__(self, after: DurationText | timedelta | None = None, reason: object = "") -> None:
        super().__init__(reason or "the handler asked for a retry")
        self.after_ms = None if after is None else _milliseconds(after)


class Park(Signal):
    """Do not try again: put the message into the parking lot, with ``reason`` in its headers."""


class Drop(Signal):
    """Do not try again, and keep nothing: the message is acked and gone."""


class Unavailable(Signal):
    """Stop consuming for now: something that every message needs is not there (a database, another
    service), and its own failure says nothing about this message.

    The consumer stops, keeps this message, and tries it again after a while, and again after longer
    whiles. When it is handled, consuming goes on. No attempt is used up.
    """

    def __init__(self, reason: object = "") -> None:
        super().__init__(reason or "what the handler needs is not there")


def _milliseconds(after: str | timedelta) -> int:
    if isinstance(after, str):
        return parse_duration(after)
    if not isinstance(after, timedelta):
        raise ConfigurationError(
            f"RetryLater(after={after!r}): expected text like {EXAMPLES}, or a timedelta"
        )
    # Rounded up: a retry must not come before the time that was asked for.
    after_ms = -(-after // timedelta(milliseconds=1))
    if not 0 <= after_ms <= MAX_DURATION_MS:
        raise ConfigurationError(f"RetryLater(after={after!r}) is out of range (0 to 49.7 days)")
    return after_ms
