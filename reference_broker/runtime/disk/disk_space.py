"""The watch over the disk's free space, and over the log's spare segment.

As RabbitMQ's ``disk_free_limit``: publishers are blocked while less is free, and nothing is nacked.
It is looked at more often the nearer it is, so that a fast publisher can't use it up between two
looks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from reference_broker.runtime.process.timers import CallLater, Timer

INTERVAL_MAX_S = 10.0
INTERVAL_MIN_S = 1.0
"""Seconds between two looks: RabbitMQ's own bounds are 10 s and 0.1 s, but each new segment looks
too."""

FILL_BYTES_PER_S = 250 * 1024 * 1024
"""Fastest growth of the files that is reckoned with: the free space above the limit lasts that
long."""

_log = logging.getLogger(__name__)


class DiskSpaceEvents(Protocol):
    """The server, as the watch sees it."""

    def disk_low(self) -> None:
        """Publishers should be blocked; what they have sent is still taken."""

    def disk_recovered(self) -> None:
        """There is room again."""


class SpareKeeper(Protocol):
    """The log, as the watch sees it. It alone knows of its spare: nothing is kept of it here."""

    @property
    def spare_missing(self) -> bool:
        """There was no room for the segment after the next, or for one as large as the message that
        waits for it."""

    def retry_spare(self) -> None:
        """Have the next batch try again to make it. Idempotent."""


class DiskSpace:
    """Looks at the free space and at the spare segment of ``log`` when it is made, and then by
    itself until :meth:`close`.

    ``free_bytes`` asks the file system; when that fails, what was known last is gone by.
    """

    def __init__(
        self,
        call_later: CallLater,
        free_bytes: Callable[[], int],
        limit_bytes: int,
        log: SpareKeeper,
        events: DiskSpaceEvents,
    ) -> None:
        self.low = False
        self._call_later = call_later
        self._free_bytes = free_bytes
        self._limit_bytes = limit_bytes
        self._log = log
        self._events = events
        self._free = limit_bytes
        self._timer: Timer | None = None
        self.look()

    def close(self) -> None:
        """Look no more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()

    def limit(self, limit_bytes: int) -> None:
        """Put another limit in force, and look at once."""
        self._limit_bytes = limit_bytes
        self.look()

    def look(self) -> None:
        """Ask the file system and the log now: the spare was to be made, so there is less room than
        before, or none; or the time has come."""
        try:
            self._free = self._free_bytes()
        except OSError as error:
            _log.warning("can't tell how much of the disk is free: %s", error)
        self._judge()
        self._arm()

    def retry(self) -> None:
        """Have the log try again to make its spare segment, in its next batch: kick the disk. It
        may want none any more that was refused."""
        self._log.retry_spare()
        self.look()

    def _judge(self) -> None:
        spare_missing = self._log.spare_missing
        low = spare_missing or self._free < self._limit_bytes
        if low is self.low:
            return
        self.low = low
        if low:
            _log.error(
                "the disk is low (%d bytes free, the limit is %d%s): publishers are blocked",
                self._free,
                self._limit_bytes,
                "; there is no room for the next segment" if spare_missing else "",
            )
            self._events.disk_low()
        else:
            _log.warning("the disk has room again: %d bytes are free", self._free)
            self._events.disk_recovered()

    def _arm(self) -> None:
        self.close()
        lasts_s = (self._free - self._limit_bytes) / FILL_BYTES_PER_S
        delay_s = INTERVAL_MIN_S if self.low else min(max(lasts_s, INTERVAL_MIN_S), INTERVAL_MAX_S)
        self._timer = self._call_later(delay_s, self.look)
