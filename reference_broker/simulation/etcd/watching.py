"""A watch of one node: told late, in order, and ended when it can't go on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from reference_broker.cluster.coordinator import (
    WATCH_SILENCE_S,
    Changed,
    News,
    Progressed,
    WatchEnded,
)
from reference_broker.simulation.etcd.inbox import Inbox
from reference_broker.simulation.etcd.line import Line
from reference_broker.simulation.etcd.server import EtcdServer
from reference_broker.simulation.etcd.store import COMPACTED
from reference_broker.simulation.etcd.witness import Witness

LAG_MAX_US = 3_000_000
"""Microseconds by which a watch may be behind."""

PROGRESS_US = (2_000_000, 12_000_000)
"""Microseconds from one notice of progress to the next."""

_LAG_CHANGES_CHANCE = 0.1
_SILENCE_US = (5_000_000, int(WATCH_SILENCE_S * 1_000_000))


class _Due(NamedTuple):
    us: int
    through: int
    progress: bool


class SimulatedWatch:
    """A watch of what is under ``prefix``, from the revision after ``after`` on.

    A compaction ends it where it has not told everything before yet; a real etcd may have sent that
    already, so nobody may count on either.
    """

    def __init__(
        self,
        server: EtcdServer,
        line: Line,
        inbox: Inbox,
        prefix: str,
        after: int,
        tell: Callable[[News], None],
    ) -> None:
        self.over = False
        self._server = server
        self._line = line
        self._inbox = inbox
        self._prefix = prefix
        self._position = after
        self._tell = tell
        self._closed = False
        self._witness = Witness(server.record, prefix, after)
        self._due: deque[_Due] = deque()
        self._last_us = 0
        self._lag_us = 0
        self._follower = 0
        self._silent = False
        self._silences = 0
        line.ask(
            lambda: after < server.store.compacted,
            self._opened,
            lambda reason, in_doubt: self.end(reason),
        )

    def close(self) -> None:
        """Tell nothing more. Idempotent."""
        self._closed = True
        self._stop()

    def fall_silent(self) -> None:
        """Say nothing, be ended when that was long enough; or go on, if :meth:`speak` comes
        first."""
        self._silent = True
        self._silences += 1
        silence = self._silences

        def notice() -> None:
            if self._silent and self._silences == silence:
                self.end("the watch says nothing")

        self._inbox.later(self._server.random.randint(*_SILENCE_US), notice)

    def speak(self) -> None:
        """Tell what has waited, and go on."""
        self._silent = False
        self._pump()

    def end(self, reason: str, *, compacted: bool = False) -> None:
        """Be over for ``reason``, and say so. Idempotent."""
        if not self.over:
            self._stop()
            self._say(WatchEnded(reason, compacted))

    def _stop(self) -> None:
        self.over = True
        self._due.clear()
        self._server.unfollow(self._follower)

    def _say(self, news: News) -> None:
        def told() -> None:
            if not self._closed:
                self._witness.saw(news)
                self._server.counts[_counted_as(news)] += 1
                self._tell(news)

        self._inbox.tell(told)

    def _opened(self, compacted: bool) -> None:
        if self.over:
            return
        if compacted:
            self.end(COMPACTED, compacted=True)
            return
        self._follower = self._server.follow(self._changed)
        self._draw_lag()
        self._changed()
        self._progress_later()

    def _changed(self) -> None:
        self._queue(progress=False)

    def _progress_later(self) -> None:
        self._server.clock.after(self._server.random.randint(*PROGRESS_US), self._progress)

    def _progress(self) -> None:
        if not self.over and not self._inbox.closed:
            if self._server.serving:
                self._queue(progress=True)
            self._progress_later()

    def _queue(self, *, progress: bool) -> None:
        """Tell what there is by now, when it has got to the node."""
        if self._inbox.closed:
            self._stop()
            return
        clock, random = self._server.clock, self._server.random
        if random.random() < _LAG_CHANGES_CHANCE:
            self._draw_lag()
        due_us = clock.now_us + self._line.latency_us() + self._lag_us
        self._last_us = max(self._last_us, due_us)
        self._due.append(_Due(self._last_us, self._server.store.revision, progress))
        clock.after(self._last_us - clock.now_us, self._pump)

    def _draw_lag(self) -> None:
        lags = self._server.random.random() < self._server.profile.lagging
        self._lag_us = self._server.random.randint(0, LAG_MAX_US) if lags else 0

    def _pump(self) -> None:
        while not self._silent and self._due and self._due[0].us <= self._server.clock.now_us:
            self._pass(self._due.popleft())

    def _pass(self, due: _Due) -> None:
        changes = self._server.store.changes(self._prefix, self._position, due.through)
        if changes is None:
            self.end(COMPACTED, compacted=True)
            return
        for changed in changes:
            self._say(changed)
        self._position = max(self._position, due.through)
        if due.progress and due.through >= self._position:
            self._say(Progressed(due.through))


def _counted_as(news: News) -> str:
    if isinstance(news, WatchEnded):
        return "watches ended compacted" if news.compacted else "watches ended"
    return "changes told" if isinstance(news, Changed) else "progress told"
