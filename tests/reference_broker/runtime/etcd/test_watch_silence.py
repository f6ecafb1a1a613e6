"""A silent watch: dead only if the store goes on, and the watch does not follow."""

from __future__ import annotations

from reference_broker.cluster.coordinator import WATCH_SILENCE_S
from reference_broker.runtime.etcd.watch_silence import COMPARE_EVERY_S, PATIENCE, WatchSilence

TIMES = [number * COMPARE_EVERY_S for number in range(1, 20)]


def test_a_store_that_stands_is_silent() -> None:
    silence = WatchSilence()
    assert not any(silence.is_dead(now, store=7, told=7) for now in TIMES)


def test_a_watch_that_stays_behind_is_dead_in_time() -> None:
    silence = WatchSilence()
    verdicts = [silence.is_dead(now, store=8, told=7) for now in TIMES]
    assert verdicts.index(True) == PATIENCE
    assert TIMES[PATIENCE] <= WATCH_SILENCE_S


def test_a_watch_that_follows_late_is_alive_however_far_the_store_is() -> None:
    silence = WatchSilence()
    for number, now in enumerate(TIMES):
        assert not silence.is_dead(now, store=10 * (number + 1), told=10 * number)


def test_a_watch_that_follows_and_then_stops_is_dead() -> None:
    silence = WatchSilence()
    silence.is_dead(0, store=8, told=7)
    assert not silence.is_dead(5, store=9, told=8)
    assert not silence.is_dead(10, store=20, told=8)
    assert silence.is_dead(15, store=30, told=8)


def test_a_read_that_lags_does_not_count() -> None:
    silence = WatchSilence()
    assert not any(silence.is_dead(now, store=5, told=9) for now in TIMES)
