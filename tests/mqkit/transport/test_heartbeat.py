"""Heartbeats by the tick: when to send one, and when the broker is gone."""

from __future__ import annotations

from mqkit.transport.heartbeat import SILENT_TICKS_MAX, TICKS_PER_INTERVAL, Beat, Heartbeat


def test_four_ticks_are_one_interval_and_none_are_wanted_without() -> None:
    assert Heartbeat(20).tick_s == 5.0
    assert Heartbeat(0).tick_s is None


def test_a_heartbeat_is_sent_after_half_an_interval_in_which_nothing_else_was() -> None:
    heartbeat = Heartbeat(20)
    beats: list[Beat] = []
    for tick in range(8):
        heartbeat.heard = True
        heartbeat.spoke = tick in (0, 3) or (tick > 0 and beats[-1] is Beat.SEND)
        beats.append(heartbeat.tick())
    nothing, send = Beat.NOTHING, Beat.SEND
    assert beats == [nothing, nothing, send, nothing, nothing, send, nothing, nothing]


def test_a_broker_is_gone_within_two_intervals_of_its_last_word_and_not_before_one_and_a_half() -> (
    None
):
    """The word may come just after a tick, or just before the next one."""
    assert SILENT_TICKS_MAX + 1 <= 2 * TICKS_PER_INTERVAL
    assert SILENT_TICKS_MAX > 1.5 * TICKS_PER_INTERVAL
    heartbeat = Heartbeat(20)
    for _ in range(SILENT_TICKS_MAX - 1):
        assert heartbeat.tick() is not Beat.GONE
    heartbeat.heard = True
    for _ in range(SILENT_TICKS_MAX):
        assert heartbeat.tick() is not Beat.GONE
    assert heartbeat.tick() is Beat.GONE
