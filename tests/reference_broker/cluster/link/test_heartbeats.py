"""Heartbeats: when they go, what they tell, and when a link counts as down at either end."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.heartbeats import (
    LATE_S,
    LOOSE,
    READING_S,
    STRICT,
    Heartbeats,
    Report,
)
from reference_broker.errors import LinkError

START = 500.0
INTERVAL_S, SILENT_S, UNHEARD_S = STRICT


class Ends:
    """Two ends with clocks of their own, and a delay between them."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.now = START
        self.delay_s = delay_s
        self.ahead_s = 10_000.0
        """The other end's clock is ahead by so much."""
        self.one = Heartbeats(START)
        self.other = Heartbeats(START + self.ahead_s)
        self.one_is_lost = False
        self.downs: dict[str, float] = {}
        self._under_way: list[tuple[float, Heartbeats, bytes]] = []

    def pass_time(self, seconds: float, step_s: float = 0.01) -> None:
        for _ in range(round(seconds / step_s)):
            self.now += step_s
            self._beat("one", self.one, self.now, self.other, lost=self.one_is_lost)
            self._beat("other", self.other, self.now + self.ahead_s, self.one, lost=False)
            arrived = [each for each in self._under_way if each[0] <= self.now]
            self._under_way = [each for each in self._under_way if each[0] > self.now]
            for _, heartbeats, payload in arrived:
                now = self.now + (self.ahead_s if heartbeats is self.other else 0)
                heartbeats.hear(now)
                heartbeats.take(memoryview(payload), now)

    def _beat(self, name: str, who: Heartbeats, now: float, to: Heartbeats, *, lost: bool) -> None:
        if name in self.downs:
            return
        if who.fault(now):
            self.downs[name] = self.now
            return
        beat = who.beat(now, Report(applied_revision=int(self.now), leads=70_000))
        if beat is not None and not lost:
            self._under_way.append((self.now + self.delay_s, to, beat))


def test_one_goes_each_interval_and_tells_the_node_s_state() -> None:
    heartbeats, other = Heartbeats(START), Heartbeats(START)
    times = []
    for step in range(101):
        now = START + step * 0.01
        beat = heartbeats.beat(now, Report(7, 3))
        if beat is not None:
            times.append(now)
            other.take(memoryview(beat), now)
    assert times == [START + each * INTERVAL_S for each in range(5)]
    assert other.peer == Report(7, 3)


def test_the_next_deadline_is_never_missed() -> None:
    heartbeats = Heartbeats(START)
    now, beats = START, 0
    while not heartbeats.fault(now):
        beats += heartbeats.beat(now, Report()) is not None
        assert heartbeats.next_deadline() > now
        now = heartbeats.next_deadline()
    assert now == START + SILENT_S
    assert beats == SILENT_S / INTERVAL_S


def test_the_round_trip_and_the_time_that_an_answer_counts_from() -> None:
    ends = Ends(delay_s=0.04)
    ends.pass_time(3)
    assert ends.one.round_trip_s == pytest.approx(0.08, abs=0.03)
    assert ends.other.round_trip_s == pytest.approx(0.08, abs=0.03)
    assert 0.08 <= ends.now - ends.one.answered_at <= 0.08 + 2 * INTERVAL_S + 0.03
    assert ends.downs == {}


def test_a_silent_peer() -> None:
    heartbeats = Heartbeats(START)
    heartbeats.hear(START + 0.4)
    assert heartbeats.fault(START + 0.4 + SILENT_S - 0.001) == ""
    assert heartbeats.fault(START + 0.4 + SILENT_S) == "nothing came for 2 s"


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("before_s", [0.5, 1.13, 1.24])
def test_loss_one_way_is_seen_at_both_ends_within_3_s(delay_s: float, before_s: float) -> None:
    ends = Ends(delay_s)
    ends.pass_time(before_s)
    ends.one_is_lost = True
    lost_at = ends.now
    ends.pass_time(3)
    assert set(ends.downs) == {"one", "other"}
    assert ends.downs["other"] <= ends.downs["one"] <= lost_at + 3


def test_who_is_not_heard_knows_it_though_octets_come_all_the_time() -> None:
    ends = Ends()
    ends.pass_time(1)
    beat = ends.other.beat(ends.now + ends.ahead_s + 1, Report())
    assert beat is not None
    ends.one.take(memoryview(beat), ends.now + 1)
    for step in range(1_000):
        ends.one.hear(ends.now + step * 0.01)
    fault = ends.one.fault(ends.now + UNHEARD_S)
    assert fault == "the other end has heard nothing of this one for 2.5 s"


@pytest.mark.parametrize("octets", [b"", bytes(44)], ids=["empty", "short"])
def test_a_heartbeat_that_is_none(octets: bytes) -> None:
    with pytest.raises(LinkError, match="a HEARTBEAT that can't be read"):
        Heartbeats(START).take(memoryview(octets), START)


def test_what_a_later_version_appends_is_ignored() -> None:
    beat = Heartbeats(START).beat(START, Report(9))
    assert beat is not None
    heartbeats = Heartbeats(START)
    heartbeats.take(memoryview(beat + b"promises"), START)
    assert heartbeats.peer == Report(9)


def test_an_answer_to_a_heartbeat_of_the_future() -> None:
    late, early = Heartbeats(START), Heartbeats(START)
    first = late.beat(START + 50, Report())
    assert first is not None
    early.take(memoryview(first), START)
    answer = early.beat(START, Report())
    assert answer is not None
    with pytest.raises(LinkError, match="answers one of the future"):
        late.take(memoryview(answer), START + 1)


def test_without_a_report_nothing_is_said_and_it_looks_again_in_time() -> None:
    heartbeats = Heartbeats(START)
    assert heartbeats.beat(START, None) is None
    assert heartbeats.next_deadline() == START + INTERVAL_S
    assert heartbeats.beat(START + INTERVAL_S, Report()) is not None


def test_loose_ones_go_less_often_and_wait_longer() -> None:
    heartbeats = Heartbeats(START)
    assert heartbeats.beat(START, Report()) is not None
    heartbeats.loosen()
    assert heartbeats.beat(START + INTERVAL_S, Report()) is not None
    assert heartbeats.next_deadline() == START + INTERVAL_S + LOOSE.interval_s
    assert heartbeats.fault(START + LOOSE.silent_s - 0.01) == ""
    assert heartbeats.fault(START + LOOSE.silent_s) == "nothing came for 6 s"
    heartbeats.hear(START + 3)
    fault = "the other end has heard nothing of this one for 7 s"
    assert heartbeats.fault(START + LOOSE.unheard_s) == fault


def test_who_was_away_itself_reads_before_it_judges() -> None:
    heartbeats = Heartbeats(START)
    now = START
    for _ in range(4):
        assert heartbeats.is_back(now)
        now += INTERVAL_S
    now += 60
    assert not heartbeats.is_back(now)
    assert heartbeats.next_deadline() == now + READING_S
    heartbeats.hear(now + READING_S / 2)
    assert heartbeats.is_back(now + READING_S)
    assert heartbeats.fault(now + READING_S).startswith("the other end has heard nothing")
    beat = Heartbeats(now).beat(now, Report())
    assert beat is not None
    heartbeats.take(memoryview(beat), now + READING_S / 2)
    assert heartbeats.fault(now + READING_S) == ""


def test_who_is_late_by_little_was_not_away() -> None:
    heartbeats = Heartbeats(START)
    late = START + INTERVAL_S + LATE_S
    assert heartbeats.is_back(late)
    heartbeats.loosen()
    assert heartbeats.is_back(late + LOOSE.interval_s + LATE_S)
    assert not heartbeats.is_back(late + 9)
