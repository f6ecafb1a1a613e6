"""Looking into a lot: its first messages, and counts of what lies there. Nothing leaves it.

The broker marks what was looked at as redelivered, and a quorum queue counts it as a delivery.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from mqkit.lots.choice import Choice
from mqkit.lots.chosen_windows import chosen_windows
from mqkit.lots.link import LotLink
from mqkit.lots.parked_time import age_ms
from mqkit.lots.reading import Window, reading
from mqkit.message import Delivery
from mqkit.retry.parked import ParkedMessage

PEEK_MAX = 1_000
"""Messages looked at are held in memory, and unacked on the broker, until the look is over."""

WORDS_MAX = 100
"""Different reasons, errors and queues that are counted apart; the others are counted together."""

OTHERS = "(others)"

AGES = (
    ("under 1h", timedelta(hours=1)),
    ("under 1d", timedelta(days=1)),
    ("under 7d", timedelta(days=7)),
)
OLDER, UNKNOWN = "older", "unknown"


async def peek(link: LotLink, lot: str, choice: Choice) -> tuple[ParkedMessage, ...]:
    """The chosen messages of ``lot``, oldest first: as many as ``choice`` has for a limit, and
    :data:`PEEK_MAX` at most. Raises :exc:`~mqkit.errors.ConfigurationError` if there is no such
    queue."""
    now = link.now()
    async with reading(link, lot, "peek") as reader:
        async for window in chosen_windows(reader, choice, now, Window(PEEK_MAX)):
            return tuple(ParkedMessage.of(each, lot, link.known) for each in window)
    return ()


@dataclass(slots=True)
class LotStats:
    """The counts of a lot: by reason, error type, queue and age."""

    lot: str
    messages: int = 0
    octets: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    queues: Counter[str] = field(default_factory=Counter)
    ages: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, for ``--json``; the most frequent first."""
        return {
            "lot": self.lot,
            "messages": self.messages,
            "body_bytes": self.octets,
            "reasons": dict(self.reasons.most_common()),
            "errors": dict(self.errors.most_common()),
            "queues": dict(self.queues.most_common()),
            "ages": dict(self.ages.most_common()),
        }


async def stats(link: LotLink, lot: str, choice: Choice) -> LotStats:
    """The counts of the chosen messages of ``lot``, which is read once, to its end; bodies are not
    held. Raises as :func:`peek`."""
    found = LotStats(lot)
    now = link.now()
    fits = choice.at(lot, now)

    def count(delivery: Delivery) -> bool:
        if fits(delivery):
            message = ParkedMessage.of(delivery, lot, link.known)
            found.messages += 1
            found.octets += len(delivery.body)
            _add(found.reasons, message.reason)
            _add(found.errors, message.error_type)
            _add(found.queues, message.queue)
            found.ages[_bucket(age_ms(delivery.headers, now))] += 1
        return False

    async with reading(link, lot, "stats") as reader:
        await reader.window(count)
    return found


def _add(counts: Counter[str], word: str) -> None:
    word = word or UNKNOWN
    counts[word if word in counts or len(counts) < WORDS_MAX else OTHERS] += 1


def _bucket(age: int | None) -> str:
    if age is None:
        return UNKNOWN
    return next((name for name, under in AGES if age < under.total_seconds() * 1000), OLDER)
