"""pause: longer each time, short again after success, and one at a time."""

from __future__ import annotations

from reference_broker.cluster.pause import FIRST_S, LONGEST_S, Pause
from reference_broker.testing.hand_clock import HandClock


def test_each_is_twice_as_long_up_to_a_bound() -> None:
    clock, ends = HandClock(), list[int]()
    pause = Pause(clock.after)
    for _ in range(7):
        began = clock.now_ms
        pause.begin(lambda began=began: ends.append(clock.now_ms - began))  # type: ignore[misc]
        clock.forward(LONGEST_S)
    assert ends == [100, 200, 400, 800, 1600, 2000, 2000]


def test_it_is_short_again_after_a_reset() -> None:
    clock, ends = HandClock(), list[int]()
    pause = Pause(clock.after)
    for _ in range(2):
        pause.begin(lambda: ends.append(clock.now_ms))
        clock.forward(1)
        pause.reset()
    assert ends == [FIRST_S * 1000, 1000 + FIRST_S * 1000]


def test_another_one_takes_its_place_and_end_ends_it() -> None:
    clock, called = HandClock(), list[str]()
    pause = Pause(clock.after)
    pause.begin(lambda: called.append("first"))
    pause.begin(lambda: called.append("second"))
    clock.forward(1)
    assert called == ["second"]
    pause.begin(lambda: called.append("third"))
    pause.end()
    pause.end()
    clock.forward(3)
    assert called == ["second"]
