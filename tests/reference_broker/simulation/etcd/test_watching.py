from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from reference_broker.cluster.coordinator import (
    WATCH_SILENCE_S,
    Changed,
    News,
    Progressed,
    Put,
    Transaction,
    WatchEnded,
)
from reference_broker.simulation.etcd.inbox import Inbox
from reference_broker.simulation.etcd.line import Cut, Line
from reference_broker.simulation.etcd.profile import CALM
from reference_broker.simulation.etcd.server import EtcdServer
from reference_broker.simulation.etcd.store import COMPACTED
from reference_broker.simulation.etcd.watching import LAG_MAX_US, SimulatedWatch
from reference_broker.simulation.etcd.witness import WatchBroken
from reference_broker.simulation.events.clock import SimulatedClock

SECOND_US = 1_000_000
SOON_US = 4 * SECOND_US
"""A watch is opened, or has told what happened, by then."""
SILENCE_US = int(WATCH_SILENCE_S * SECOND_US)


class Watched:
    """An etcd with the keys a/1 and b/1, written at the revisions 2 and 3, and watches of it."""

    def __init__(self, *, lagging: float = 0) -> None:
        self.clock = SimulatedClock()
        self.server = EtcdServer(self.clock, Random(2), replace(CALM, lagging=lagging))
        self.inbox = Inbox(self.clock)
        self.line = Line(self.server, self.inbox)
        self.told: list[News] = []
        for key in ("a/1", "b/1"):
            self.put(key)

    def put(self, key: str) -> None:
        self.server.transact(Transaction((), (Put(key, b""),)))

    def watch(self, after: int, prefix: str = "a/") -> SimulatedWatch:
        return SimulatedWatch(self.server, self.line, self.inbox, prefix, after, self.told.append)

    def run(self, us: int) -> None:
        self.clock.run(self.clock.now_us + us)

    @property
    def revisions(self) -> list[int]:
        return [news.revision for news in self.told if isinstance(news, Changed)]

    @property
    def ends(self) -> list[WatchEnded]:
        return [news for news in self.told if isinstance(news, WatchEnded)]


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.mark.parametrize(("after", "revisions"), [(0, [2, 5]), (1, [2, 5]), (2, [5]), (5, [])])
def test_it_tells_what_comes_after_a_revision(
    watched: Watched, after: int, revisions: list[int]
) -> None:
    watched.watch(after)
    assert not watched.told
    watched.put("b/2")
    watched.put("a/2")
    watched.run(SOON_US)
    assert watched.revisions == revisions


def test_it_tells_nothing_of_before_a_revision_that_is_yet_to_come(watched: Watched) -> None:
    watched.watch(4)
    watched.put("a/2")
    watched.run(60 * SECOND_US)
    watched.put("a/3")
    watched.run(SOON_US)
    assert watched.revisions == [5]


def test_it_tells_of_progress_when_nothing_else_is_to_tell(watched: Watched) -> None:
    watched.watch(2)
    watched.run(60 * SECOND_US)
    assert set(watched.told) == {Progressed(3)}


def test_watches_lag_each_on_its_own() -> None:
    watched = Watched(lagging=1)
    seen: list[dict[int, int]] = [{}, {}]
    for note in seen:

        def tell(news: News, note: dict[int, int] = note) -> None:
            if isinstance(news, Changed):
                note[news.revision] = watched.clock.now_us

        SimulatedWatch(watched.server, watched.line, watched.inbox, "", 3, tell)
    watched.run(SOON_US)
    made_us = {}
    for number in range(30):
        watched.put(f"k{number}")
        made_us[watched.server.store.revision] = watched.clock.now_us
        watched.run(SECOND_US)
    watched.run(SOON_US)
    lags = [[note[revision] - made for revision, made in made_us.items()] for note in seen]
    assert LAG_MAX_US / 3 < max(map(max, lags)) < 2 * LAG_MAX_US
    assert lags[0] != lags[1]


def test_one_of_what_is_compacted_is_ended_and_says_so(watched: Watched) -> None:
    watched.server.compact(3)
    watched.watch(2)
    watched.watch(3)
    watched.run(SOON_US)
    assert watched.told == [WatchEnded(COMPACTED, compacted=True)]


def test_one_that_lags_behind_a_compaction_is_ended_too(watched: Watched) -> None:
    watched.watch(3)
    watched.run(SOON_US)
    watched.put("a/2")
    watched.server.compact()
    watched.run(SOON_US)
    assert watched.told == [WatchEnded(COMPACTED, compacted=True)]


def test_one_that_has_told_everything_outlives_a_compaction(watched: Watched) -> None:
    watched.watch(3)
    watched.put("b/2")
    watched.run(SOON_US)
    watched.server.compact()
    watched.put("a/2")
    watched.run(SOON_US)
    assert watched.revisions == [5]
    assert not watched.ends


def test_a_silent_one_is_ended_in_time(watched: Watched) -> None:
    watch = watched.watch(3)
    watched.run(SOON_US)
    watch.fall_silent()
    watched.put("a/2")
    watched.run(SILENCE_US)
    assert watched.told == [WatchEnded("the watch says nothing")]
    assert watch.over


def test_one_that_speaks_again_has_missed_nothing(watched: Watched) -> None:
    watch = watched.watch(3)
    watched.run(SOON_US)
    watch.fall_silent()
    watched.put("a/2")
    watched.run(SOON_US)
    assert not watched.told
    watch.speak()
    assert watched.revisions == [4]
    watched.run(60 * SECOND_US)
    assert not watched.ends


def test_one_that_can_not_be_opened_is_ended(watched: Watched) -> None:
    watched.line.break_off(Cut.REFUSING)
    watched.watch(3)
    watched.run(SOON_US)
    assert watched.told == [WatchEnded("connection refused")]


def test_a_closed_one_says_nothing_not_its_end_either(watched: Watched) -> None:
    watch = watched.watch(1)
    watched.run(SOON_US)
    watched.told.clear()
    watched.put("a/2")
    watch.close()
    watch.close()
    watch.end("connection was reset")
    watched.run(60 * SECOND_US)
    assert not watched.told


def test_one_of_a_process_that_is_gone_says_nothing(watched: Watched) -> None:
    watched.watch(1)
    watched.run(SOON_US)
    watched.told.clear()
    watched.inbox.close()
    watched.put("a/2")
    watched.run(60 * SECOND_US)
    assert not watched.told


def test_a_store_that_leaves_something_out_is_found(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.watch(1)
    monkeypatch.setattr(watched.server.store, "changes", lambda *_: [])
    with pytest.raises(WatchBroken):
        watched.run(60 * SECOND_US)
