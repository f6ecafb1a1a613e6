from __future__ import annotations

from mqkit.transport.native.heartbeat import Beat, Heartbeat


def test_two_ticks_are_one_interval_and_none_are_wanted_without() -> None:
    assert Heartbeat(20).tick_s == 10.0
    assert Heartbeat(0).tick_s is None


def test_a_heartbeat_is_sent_only_where_nothing_else_was() -> None:
    heartbeat = Heartbeat(20)
    heartbeat.heard = heartbeat.spoke = True
    assert heartbeat.tick() is Beat.NOTHING
    heartbeat.heard = True
    assert heartbeat.tick() is Beat.SEND


def test_two_silent_intervals_are_the_end_and_a_word_in_between_is_not() -> None:
    heartbeat = Heartbeat(20)
    for _ in range(3):
        assert heartbeat.tick() is Beat.SEND
    heartbeat.heard = True
    assert heartbeat.tick() is Beat.SEND
    for _ in range(3):
        assert heartbeat.tick() is Beat.SEND
    assert heartbeat.tick() is Beat.GONE
