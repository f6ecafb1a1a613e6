"""The time of the next attempt to connect, and the error of the last one."""

from __future__ import annotations

import logging
import time

from mqkit.errors import MqkitError
from mqkit.supervision.attempts import is_lasting
from mqkit.supervision.pauses import ReconnectPauses
from mqkit.timing.clock import ThreadClock
from mqkit.timing.token_bucket import TokenBucket

_LOG = logging.getLogger(__name__)

FAILURES_TOLD = 3
"""Failed attempts that are a line each; then one in :data:`FAILURES_TOLD_EVERY_S`."""

FAILURES_TOLD_EVERY_S = 60.0


class Patience:
    """For one link, under its lock."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._pauses = ReconnectPauses(first_s, most_s)
        self._told = TokenBucket(FAILURES_TOLD, FAILURES_TOLD_EVERY_S, ThreadClock())
        self._was_ready = False
        self.problem: MqkitError | None = None
        """The error of the last attempt, if it failed."""
        self.refusal: MqkitError | None = None
        """The same, where no other attempt would be better: for all who wait now."""
        self.until_s = 0.0
        """The moment of the next attempt, by ``time.monotonic``."""

    def ready(self) -> None:
        """An attempt has succeeded."""
        self._was_ready = True
        self.problem = None
        self._pauses.reset()
        self.until_s = 0.0

    def lost(self) -> None:
        """The connection is. The next attempt is soon, and not at once: all that were connected to
        a broker that starts again come back."""
        self.until_s = time.monotonic() + self._pauses.next_s(None)

    def failed(self, error: MqkitError) -> None:
        """An attempt has. After a first success nothing is final: a password may be changed, and
        changed back, while a program runs."""
        self.problem = error
        self.until_s = time.monotonic() + self._pauses.next_s(error)
        if not self._was_ready and is_lasting(error):
            self.refusal = error
        elif self._told.take():
            _LOG.warning("can't connect, trying again: %s", " ".join(str(error).split()))

    def raise_if_refused(self) -> None:
        """Raises :attr:`refusal` until it is time for another attempt."""
        if self.refusal is not None:
            if time.monotonic() < self.until_s:
                raise self.refusal.with_traceback(None)
            self.refusal = None
