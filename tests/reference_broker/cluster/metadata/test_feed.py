"""feed: everything is read at one revision, then watched, and nothing is applied twice or not at
all."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import (
    Changed,
    Event,
    Page,
    Progressed,
    Row,
    Unread,
    WatchEnded,
)
from reference_broker.cluster.metadata.feed import FEED_TABLE, Feed, FeedEvent, FeedState
from reference_broker.cluster.metadata.view import View
from reference_broker.core.base.transitions import IllegalTransition
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.core.work.portions import Portions
from reference_broker.testing.hand_clock import HandClock
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

P = "/mqkit/c/"


class Fed:
    """A feed, and all that is around it."""

    def __init__(self, units: int = 1_000_000) -> None:
        self.etcd = ScriptedCoordinator()
        self.view = View()
        self.budget = Budget(units)
        self.work = Portions(self.budget)
        self.clock = HandClock()
        self.reports: list[str] = []
        self.gone_back: list[tuple[int, int]] = []
        self.feed = Feed(
            self.etcd,
            P,
            self.view,
            self.work,
            self.budget,
            self.clock.after,
            self.reports.append,
            lambda seen, found: self.gone_back.append((seen, found)),
        )

    def read(self, revision: int, *keys: str, more: bool = False) -> None:
        rows = tuple(Row(P + key, b"v", revision, 0, revision) for key in keys)
        self.etcd.answer_read(Page(rows, revision, more))

    def change(self, revision: int, *keys: str) -> None:
        events = tuple(Event(P + key, b"v", revision) for key in keys)
        self.etcd.watches[-1].tell(Changed(revision, events))

    def turn(self) -> None:
        self.budget.refill()
        self.work.run()


def _watching(units: int = 1_000_000) -> Fed:
    fed = Fed(units)
    fed.feed.start()
    fed.read(5, "a")
    return fed


def test_it_reads_in_pages_of_one_revision_and_watches_from_there() -> None:
    fed = Fed()
    fed.feed.start()
    fed.read(5, "a", "b", more=True)
    assert not fed.view.is_whole
    read = fed.etcd.reads[0]
    assert (read.prefix, read.after, read.revision) == (P, P + "b", 5)
    fed.read(5, "c")
    assert fed.view.is_whole
    assert list(fed.view.keys()) == ["a", "b", "c"]
    assert fed.view.revision.value == 5
    assert (fed.etcd.watches[0].prefix, fed.etcd.watches[0].after) == (P, 5)
    assert fed.feed.state is FeedState.WATCHING


def test_what_is_watched_is_applied() -> None:
    fed = _watching()
    fed.change(6, "b", "c")
    fed.etcd.watches[0].tell(Progressed(9))
    fed.etcd.watches[0].tell(Changed(10, (Event(P + "a", None, 10),)))
    assert list(fed.view.keys()) == ["b", "c"]
    assert fed.view.revision.value == 10


def test_what_was_told_already_is_not_applied_again() -> None:
    fed = _watching()
    fed.change(7, "b")
    fed.etcd.watches[0].tell(Changed(6, (Event(P + "b", None, 6),)))
    assert fed.view.revision_of("b") == 7


def test_an_ended_watch_goes_on_where_it_was() -> None:
    fed = _watching()
    fed.change(7, "b")
    fed.etcd.watches[0].tell(WatchEnded("the connection broke"))
    assert fed.feed.trouble == "the connection broke"
    assert len(fed.etcd.watches) == 1
    fed.clock.forward(0.2)
    assert fed.etcd.watches[1].after == 7
    fed.etcd.watches[1].tell(Progressed(8))
    assert fed.feed.trouble is None


def test_an_old_watch_is_not_listened_to() -> None:
    fed = _watching()
    fed.etcd.watches[0].tell(WatchEnded("the connection broke"))
    fed.clock.forward(0.2)
    fed.etcd.watches[0].tell(Changed(6, (Event(P + "x", b"v", 6),)))
    assert fed.view.revision_of("x") == 0


def test_a_compacted_one_is_read_anew_and_compared() -> None:
    fed = _watching()
    fed.etcd.watches[0].tell(WatchEnded("compacted", compacted=True))
    fed.clock.forward(0.2)
    assert fed.etcd.reads[0].revision == 0
    fed.read(30, "b")
    assert list(fed.view.keys()) == ["b"]
    assert fed.view.revision.value == 30
    assert fed.etcd.watches[-1].after == 30


def test_what_another_node_tells_is_news_and_the_watch_goes_on_after_it() -> None:
    fed = _watching()
    fed.etcd.watches[0].tell(WatchEnded("the connection broke"))
    fed.feed.relayed([Changed(6, (Event("b", b"v", 6),)), Changed(7, (Event("a", None, 7),))], 9)
    assert list(fed.view.keys()) == ["b"]
    assert (fed.view.revision.value, fed.feed.told) == (9, 9)
    assert fed.feed.trouble == "the connection broke"
    fed.clock.forward(0.2)
    assert fed.etcd.watches[1].after == 9
    fed.feed.relayed([Changed(6, (Event("b", None, 6),))], 7)
    assert list(fed.view.keys()) == ["b"]


def test_it_is_overtaken_until_etcd_tells_anything() -> None:
    fed = _watching()
    fed.feed.relayed([], 5)
    assert not fed.feed.is_overtaken
    fed.feed.relayed([], 9)
    assert fed.feed.is_overtaken
    fed.change(6, "b")
    assert not fed.feed.is_overtaken
    assert fed.view.revision_of("b") == 0


def test_it_goes_on_from_what_it_was_told_unless_it_reads_anew() -> None:
    fed = Fed()
    fed.feed.start()
    assert not fed.feed.goes_on
    fed.read(5, "a")
    assert fed.feed.goes_on
    fed.etcd.watches[0].tell(WatchEnded("the connection broke"))
    assert fed.feed.goes_on
    fed.clock.forward(0.2)
    fed.etcd.watches[1].tell(WatchEnded("compacted", compacted=True))
    assert not fed.feed.goes_on
    fed.feed.close()
    assert not fed.feed.goes_on


def test_it_keeps_what_it_was_told_since_it_has_read_everything() -> None:
    fed = _watching()
    fed.change(6, "b")
    fed.etcd.watches[0].tell(Progressed(8))
    fed.feed.relayed([Changed(9, (Event("c", b"v", 9),))], 10)
    kept = fed.feed.history.after(5, 1_000_000)
    assert kept is not None
    assert [(each.revision, each.events[0].key) for each in kept.transactions] == [
        (6, "b"),
        (9, "c"),
    ]
    assert kept.reached == 10
    fed.etcd.watches[0].tell(WatchEnded("compacted", compacted=True))
    fed.clock.forward(0.2)
    assert len(fed.feed.history) == 2
    fed.read(30, "b")
    assert (len(fed.feed.history), fed.feed.history.known_after) == (0, 30)


def test_a_reading_that_fails_is_begun_again_later_and_later() -> None:
    fed = Fed()
    fed.feed.start()
    fed.read(5, "a", more=True)
    fed.etcd.answer_read(Unread("compacted while it was read", compacted=True))
    assert (fed.feed.state, len(fed.etcd.reads)) == (FeedState.PAUSED_READ, 0)
    fed.clock.forward(0.1)
    assert (fed.etcd.reads[0].after, fed.etcd.reads[0].revision) == ("", 0)
    fed.etcd.answer_read(Unread("no leader"))
    fed.clock.forward(0.1)
    assert not fed.etcd.reads
    fed.clock.forward(0.1)
    fed.read(8, "b")
    assert list(fed.view.keys()) == ["b"]


def test_applying_is_in_portions_and_a_revision_rises_with_its_whole_transaction() -> None:
    fed = _watching(units=2 * DECLARATION_UNITS)
    fed.change(6, "b", "c")
    fed.change(7, "d")
    fed.change(8, "e")
    assert fed.view.revision.value == 6
    fed.turn()
    assert fed.view.revision.value == 8


def test_a_large_reading_is_whole_after_its_last_portion() -> None:
    fed = Fed(units=100 * DECLARATION_UNITS)
    fed.feed.start()
    fed.read(5, *(f"k{number:03}" for number in range(250)))
    seen = []
    while not fed.view.is_whole:
        seen.append((len(fed.view), fed.view.revision.value))
        fed.turn()
    assert seen == [(100, 0), (200, 0)]
    assert (len(fed.view), fed.view.revision.value) == (250, 5)


def test_a_reading_is_compared_with_what_all_that_came_has_made_of_the_view() -> None:
    fed = _watching(units=DECLARATION_UNITS)
    fed.change(6, "b")
    fed.change(7, "c")
    assert fed.view.revision.value < 7
    fed.etcd.watches[0].tell(WatchEnded("compacted", compacted=True))
    fed.clock.forward(0.2)
    assert not fed.etcd.reads
    while fed.view.revision.value < 7:
        fed.turn()
    fed.read(9, "d")
    while fed.view.revision.value < 9:
        fed.turn()
    assert list(fed.view.keys()) == ["d"]


def test_an_operator_is_told_when_there_is_no_news_and_when_there_is_again() -> None:
    fed = _watching()
    fed.etcd.watches[-1].tell(WatchEnded("the connection broke"))
    fed.clock.forward(0.2)
    fed.change(6, "b")
    assert fed.reports == []
    for _ in range(3):
        fed.etcd.watches[-1].tell(WatchEnded("connection refused"))
        fed.clock.forward(1)
    assert fed.reports == ["there is no news of etcd: connection refused"]
    fed.change(7, "c")
    fed.change(8, "d")
    assert fed.reports[1:] == ["there is news of etcd again"]


def test_an_etcd_that_was_restored_from_an_older_copy_ends_it_and_changes_nothing() -> None:
    fed = _watching()
    fed.change(9, "b")
    fed.etcd.watches[-1].tell(WatchEnded("its revision has gone back", compacted=True))
    fed.clock.forward(0.2)
    fed.read(6, "a")
    assert list(fed.view.keys()) == ["a", "b"]
    assert fed.gone_back == [(9, 6)]
    assert fed.feed.state is FeedState.CLOSED
    fed.clock.forward(60)
    assert not fed.etcd.reads


@pytest.mark.parametrize("reading", [True, False])
def test_a_closed_one_takes_nothing_more(reading: bool) -> None:
    fed = Fed()
    fed.feed.start()
    if not reading:
        fed.read(5, "a")
    fed.feed.close()
    fed.feed.close()
    if reading:
        fed.read(5, "a")
        assert fed.etcd.watches == []
        assert len(fed.view) == 0
    else:
        fed.change(6, "b")
        assert fed.etcd.watches[0].is_closed
        assert fed.view.revision.value == 5


def test_the_table_is_the_picture() -> None:
    for state in FeedState:
        for event in FeedEvent:
            if not FEED_TABLE.allows(state, event):
                with pytest.raises(IllegalTransition):
                    FEED_TABLE.after(state, event)
    reached = {FeedState.IDLE, *FEED_TABLE.transitions.values()}
    assert reached == set(FeedState)
