"""hand_clock: what comes due is called in its order, and at its time."""

from __future__ import annotations

from reference_broker.testing.hand_clock import HandClock


def test_callbacks_come_in_order_of_their_time() -> None:
    clock = HandClock()
    called: list[tuple[str, int]] = []
    clock.after(0.3, lambda: called.append(("late", clock.now_ms)))
    clock.after(0.1, lambda: called.append(("early", clock.now_ms)))
    clock.forward(0.09)
    assert called == []
    clock.forward(1)
    assert called == [("early", 100), ("late", 300)]


def test_a_callback_may_call_back_later() -> None:
    clock = HandClock()
    called: list[int] = []

    def again() -> None:
        clock.after(0.1, lambda: called.append(clock.now_ms))

    clock.after(0.1, again)
    clock.forward(1)
    assert called == [200]


def test_at_once_is_the_next_step() -> None:
    clock = HandClock()
    called: list[int] = []
    clock.after(0, lambda: called.append(clock.now_ms))
    assert called == []
    clock.forward(0)
    assert called == [0]
