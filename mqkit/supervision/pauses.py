"""The pauses between attempts to connect: short ones while nobody answers, growing ones while a
broker is there and does not let us in."""

from __future__ import annotations

import random
from collections.abc import Callable

from mqkit.errors import Unanswered
from mqkit.timing.backoff import Backoff

UNANSWERED_MAX_S = 1.0
"""The highest ceiling while nobody answers. No broker has any work with such an attempt, and two of
them in a second are nothing to a host or a proxy; so an app is back within some two seconds of an
outage's end, however long it was. What a broker has begun to answer costs it a login: those
attempts become rare, or a broker that is overloaded would never come up."""


class ReconnectPauses:
    """The pauses of one client. ``first_s`` and ``most_s`` are the lowest and the highest ceiling;
    ``rng`` gives numbers from 0 to 1.

    While nobody answers, the ceiling grows to :data:`UNANSWERED_MAX_S` only, or to ``first_s``
    where that is more. Such attempts do not count for the other pauses: a broker that is up again,
    and not quite ready, is asked often at first.
    """

    def __init__(
        self, first_s: float, most_s: float, rng: Callable[[], float] = random.random
    ) -> None:
        self._answered = Backoff(first_s, most_s, rng)
        self._unanswered = Backoff(first_s, min(most_s, max(first_s, UNANSWERED_MAX_S)), rng)

    def next_s(self, problem: BaseException | None) -> float:
        """The pause before the next attempt, in seconds. ``problem`` is what the last one came to;
        ``None`` for a connection that was there, and is lost."""
        pauses = self._unanswered if isinstance(problem, Unanswered) else self._answered
        return pauses.next_s()

    def reset(self) -> None:
        """Start over: an attempt has succeeded."""
        self._answered.reset()
        self._unanswered.reset()
