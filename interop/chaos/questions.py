"""Questions and their right answers. A question is a number that is asked once in a run.

The number alone says what its handler does, so that the checker knows what must come back.
"""

from __future__ import annotations

from enum import StrEnum

MODULUS = 2_147_483_647


class Way(StrEnum):
    """The ways in which a handler can take a question."""

    ANSWER = "answer"
    RAISE = "raise"
    PARK = "park"
    LATER = "later"
    """Retried once, then answered."""
    SLOW = "slow"
    """Answered late: many a caller's deadline is over by then."""


_WAYS = (
    *(Way.ANSWER,) * 14,
    *(Way.RAISE,) * 2,
    Way.PARK,
    Way.LATER,
    *(Way.SLOW,) * 2,
)

REMOTE_ERRORS = {Way.RAISE: "LookupError", Way.PARK: "Park"}
"""The error that a caller is told, by its class."""


def way_of(number: int) -> Way:
    """The way in which the question ``number`` is taken."""
    return _WAYS[number % len(_WAYS)]


def answer_of(number: int) -> int:
    """The one right answer; no two questions below :data:`MODULUS` have the same."""
    return (number * 48_271 + 11) % MODULUS


def complaint_of(number: int) -> str:
    """The text of the error with which the question is answered: it names its question."""
    return f"question {number} has no answer"
