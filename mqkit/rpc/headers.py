"""The headers of questions and answers. Pure.

A question's deadline travels in a header and not as ``expiration``: a queue that dead-letters what
expires would have the question parked. It is a time of the caller's clock; a handler whose clock is
behind begins late by as much, and one whose clock is ahead drops questions that it had time for.
"""

from __future__ import annotations

from collections.abc import Mapping

DEADLINE = "x-mqkit-deadline"
"""On a question: milliseconds since 1970 (UTC) until which the caller waits."""

ERROR_TYPE = "x-mqkit-error-type"
"""On an answer that tells of a failure: the name of the exception's class. The body is its text."""

DIRECT_REPLY_TO = "amq.rabbitmq.reply-to"
"""The queue that a caller consumes from, and the ``reply_to`` that the broker replaces by an
address of the caller's channel."""


def deadline_ms(headers: Mapping[str, object]) -> int | None:
    """The deadline of a question, ``None`` where it has none that mqkit has written."""
    value = headers.get(DEADLINE)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_late(headers: Mapping[str, object], now_ms: int) -> bool:
    """True when nobody waits for the answer any more."""
    until_ms = deadline_ms(headers)
    return until_ms is not None and now_ms >= until_ms
