"""The feed: it reads the cluster's metadata into the view, and keeps it there by a watch.

    IDLE --start--> READING --last page--> WATCHING
                      ^  |                   |   |
            compacted |  | unread      ended |   | compacted
                      |  v                   v   v
                  PAUSED_READ          PAUSED_WATCH  (to READING)

While it goes on from what it was told, WATCHING or not, other nodes may tell what the watch does
not (:mod:`~reference_broker.cluster.relay`). While it reads, or will, they may not: the reading is
compared with a view that nothing else changes.

What comes is queued, and applied in portions that the budget of a turn allows, as the work of the
broker; the view's revision rises with whole transactions only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from typing import NamedTuple, Protocol

from reference_broker.cluster.coordinator import (
    Changed,
    Coordinator,
    Event,
    News,
    Page,
    Unread,
    Watch,
    WatchEnded,
)
from reference_broker.cluster.metadata.event_history import EventHistory
from reference_broker.cluster.metadata.resync import Resync
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.pause import Pause, Timer
from reference_broker.core.base.transitions import TransitionTable
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.core.work.task import Steps

TELLING_FAILURES = 2
"""Attempts in a row without any news, of which an operator is told: a watch that ends, and is there
again at once, is nothing."""


class FeedState(Enum):
    """See the picture at the top of the module."""

    IDLE = auto()
    READING = auto()
    PAUSED_READ = auto()
    WATCHING = auto()
    PAUSED_WATCH = auto()
    CLOSED = auto()


class FeedEvent(Enum):
    """An event of the feed's life."""

    START = auto()
    PAGE = auto()
    LAST_PAGE = auto()
    UNREAD = auto()
    ENDED = auto()
    COMPACTED = auto()
    PAUSE_OVER = auto()
    CLOSE = auto()


FEED_TABLE = TransitionTable(
    {
        (FeedState.IDLE, FeedEvent.START): FeedState.READING,
        (FeedState.READING, FeedEvent.PAGE): FeedState.READING,
        (FeedState.READING, FeedEvent.LAST_PAGE): FeedState.WATCHING,
        (FeedState.READING, FeedEvent.UNREAD): FeedState.PAUSED_READ,
        (FeedState.PAUSED_READ, FeedEvent.PAUSE_OVER): FeedState.READING,
        (FeedState.WATCHING, FeedEvent.ENDED): FeedState.PAUSED_WATCH,
        (FeedState.WATCHING, FeedEvent.COMPACTED): FeedState.PAUSED_READ,
        (FeedState.PAUSED_WATCH, FeedEvent.PAUSE_OVER): FeedState.WATCHING,
        **{(state, FeedEvent.CLOSE): FeedState.CLOSED for state in FeedState},
    }
)


class Works(Protocol):
    """The broker's work that is left over (:class:`~reference_broker.core.work.portions.Portions`),
    as far as the feed takes part in it."""

    def start(self, steps: Steps, vhost_name: str) -> object:
        """Begin steps, and go on with them in later turns."""
        ...


class _Portion(NamedTuple):
    """Events to be applied as one input; ``reached`` is the revision that is whole with them, 0
    for none."""

    events: tuple[Event, ...]
    reached: int


class Feed:
    """The feed of ``view`` from the keys under ``prefix``. ``after`` is the broker's timer;
    ``report`` is told, in a line, when there has been no news for more than one attempt, and when
    there is again. The reason meanwhile is in :attr:`trouble`. ``gone_back`` is called when the
    store has a lower revision, its second argument, than the view: the feed is closed then."""

    def __init__(
        self,
        coordinator: Coordinator,
        prefix: str,
        view: View,
        work: Works,
        budget: Budget,
        after: Timer,
        report: Callable[[str], None],
        gone_back: Callable[[int, int], None],
    ) -> None:
        self.state = FeedState.IDLE
        self.trouble: str | None = None
        self.is_overtaken = False
        """Other nodes have told something, and etcd nothing since."""
        self.history = EventHistory()
        """The last transactions that it was told, for other nodes."""
        self._report = report
        self._gone_back = gone_back
        self._failures = 0
        """Attempts since the last news."""
        self._coordinator = coordinator
        self._prefix = prefix
        self._view = view
        self._work = work
        self._budget = budget
        self._pause = Pause(after)
        self._portions: deque[_Portion] = deque()
        self._is_applying = False
        self._told = 0
        self._watch: Watch | None = None
        self._number = 0
        """Of the reading or the watch: what an earlier one still says is dropped."""

    @property
    def told(self) -> int:
        """The revision up to which everything has come; that of the view may be behind it."""
        return self._told

    @property
    def goes_on(self) -> bool:
        """True while news are taken up from :attr:`told`: nothing has to be read anew."""
        return self.state in (FeedState.WATCHING, FeedState.PAUSED_WATCH)

    def start(self) -> None:
        """Begin to read. To be called once."""
        self._pass(FeedEvent.START)
        self._read_anew()

    def close(self) -> None:
        """Take no more news. Idempotent."""
        self._pass(FeedEvent.CLOSE)
        self._number += 1
        self._pause.end()
        self._portions.clear()
        self._end_watch()

    def _pass(self, event: FeedEvent) -> None:
        self.state = FEED_TABLE.after(self.state, event)

    # Reading everything

    def _read_anew(self) -> None:
        """The reading is compared with the view as it will be when all that has come is applied."""
        if self._portions:
            self._number += 1
            self._view.revision.when_at(self._told, partial(self._when_applied, self._number))
            return
        self._read_page(Resync(self._view))

    def _when_applied(self, number: int) -> None:
        if number == self._number and self.state is FeedState.READING:
            self._read_anew()

    def _read_page(self, resync: Resync) -> None:
        self._number += 1
        self._coordinator.read(
            self._prefix,
            partial(self._page_came, self._number, resync),
            after=resync.after,
            revision=resync.revision,
        )

    def _page_came(self, number: int, resync: Resync, page: Page | Unread) -> None:
        if number != self._number:
            return
        if isinstance(page, Unread):
            self._pass(FeedEvent.UNREAD)
            self._trouble_began(page.reason)
            return
        if page.revision < self._told:
            self.close()
            self._gone_back(self._told, page.revision)
            return
        resync.add(page, self._prefix)
        if page.more:
            self._pass(FeedEvent.PAGE)
            self._read_page(resync)
            return
        self._pass(FeedEvent.LAST_PAGE)
        self._well_again()
        self._told = resync.revision
        self.history.begin(resync.revision)
        portions = resync.portions()
        if portions:
            self._view.is_whole = False
        for events in portions:
            self._queue(_Portion(events, 0))
        self._queue(_Portion((), resync.revision))
        self._begin_watch()

    # Watching

    def _begin_watch(self) -> None:
        self._number += 1
        tell = partial(self._news_came, self._number)
        self._watch = self._coordinator.watch(self._prefix, self._told, tell)

    def _news_came(self, number: int, news: News) -> None:
        if number != self._number:
            return
        if isinstance(news, WatchEnded):
            self._number += 1
            self._watch = None
            self._pass(FeedEvent.COMPACTED if news.compacted else FeedEvent.ENDED)
            self._trouble_began(news.reason)
            return
        self._well_again()
        events = self._without_prefix(news) if isinstance(news, Changed) else ()
        self._take(news.revision, events)

    def relayed(self, transactions: Sequence[Changed], reached: int) -> None:
        """Another node was told ``transactions``, whose keys are without the prefix, and nothing
        else after :attr:`told`, or some revision below it, up to ``reached``. To be called only
        while it :attr:`goes_on`; idempotent."""
        self.is_overtaken = self.is_overtaken or reached > self._told
        for revision, events in transactions:
            self._take(revision, events)
        self._take(reached, ())

    def _take(self, revision: int, events: tuple[Event, ...]) -> None:
        """Take what has changed up to ``revision``, unless it is known: a watch tells what a peer
        has told before."""
        if revision <= self._told:
            return
        self._told = revision
        self.history.add(revision, events)
        self._queue(_Portion(events, revision))

    def _without_prefix(self, news: Changed) -> tuple[Event, ...]:
        start = len(self._prefix)
        return tuple(event._replace(key=event.key[start:]) for event in news.events)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    # Trouble

    def _trouble_began(self, reason: str) -> None:
        self.trouble = reason
        self._failures += 1
        if self._failures == TELLING_FAILURES:
            self._report(f"there is no news of etcd: {reason}")
        self._pause.begin(self._pause_over)

    def _pause_over(self) -> None:
        was = self.state
        self._pass(FeedEvent.PAUSE_OVER)
        if was is FeedState.PAUSED_READ:
            self._read_anew()
        else:
            self._begin_watch()

    def _well_again(self) -> None:
        if self._failures >= TELLING_FAILURES:
            self._report("there is news of etcd again")
        self.trouble = None
        self.is_overtaken = False
        self._failures = 0
        self._pause.reset()

    # Applying

    def _queue(self, portion: _Portion) -> None:
        self._portions.append(portion)
        if not self._is_applying:
            self._is_applying = True
            self._work.start(self._apply(), "")

    def _apply(self) -> Steps:
        """The steps of applying all that has come."""
        try:
            while self._portions:
                events, reached = self._portions.popleft()
                self._budget.left -= len(events) * DECLARATION_UNITS
                yield from self._view.take(events)
                if reached:
                    self._view.reach(reached)
                if self._budget.left <= 0:
                    yield None
        finally:
            self._is_applying = False
