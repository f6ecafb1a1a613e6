"""Partitions that rest."""

from __future__ import annotations

from mqkit.outbox.resting import REST_FIRST_S, REST_MAX_S, Resting


def test_each_failure_in_a_row_rests_longer_and_a_good_window_ends_it() -> None:
    resting = Resting()
    rests, now_s = [], 100.0
    for _ in range(9):
        resting.after([3, 4], {3}, now_s)
        assert resting.at(now_s) == {3}
        rest_s = resting.soonest_s(now_s)
        assert rest_s is not None
        rests.append(rest_s)
        now_s += rest_s
        assert resting.at(now_s) == set()
    assert rests[:3] == [REST_FIRST_S, 2 * REST_FIRST_S, 4 * REST_FIRST_S]
    assert rests[-1] == REST_MAX_S
    resting.after([3], set(), now_s)
    assert resting.soonest_s(now_s) is None
    resting.after([3], {3}, now_s)
    assert resting.soonest_s(now_s) == REST_FIRST_S
