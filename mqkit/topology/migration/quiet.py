"""A queue that is empty and at rest, told from looks at it. Pure.

The counts of a management API are old: RabbitMQ's queues tell theirs every 5 s, and are asked every
5 s. So a queue is quiet when each look says so for longer than that, and nothing was published to
it in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SETTLE_RABBITMQ_S = 11.0
"""Twice RabbitMQ's collect_statistics_interval, and a second."""
SETTLE_REFERENCE_S = 1.0
"""The reference broker counts when it is asked."""


class Look(NamedTuple):
    """One look: the messages that had to be moved or held since the last one, those that consumers
    have and have not acked, and those that were ever published to the queue. ``None`` is for what
    the API does not tell."""

    taken: int
    unacked: int | None
    published: int | None


@dataclass(slots=True)
class Quiet:
    """``settle_s`` is the time for which every look has to find the queue at rest."""

    settle_s: float
    _since: float | None = None
    _published: int | None = None

    def note(self, look: Look, now: float) -> bool:
        """True when the queue has been at rest for long enough."""
        is_at_rest = look.taken == 0 and look.unacked == 0 and look.published == self._published
        self._published = look.published
        if not is_at_rest:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self.settle_s
