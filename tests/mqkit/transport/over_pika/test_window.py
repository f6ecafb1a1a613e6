"""mqkit.transport.over_pika.window: the bounds, crossed one by one."""

from __future__ import annotations

import threading

from mqkit.transport.over_pika.window import Window
from mqkit.transport.window_size import WindowSize


def nothing() -> None:
    pass


def now_or_never(window: Window, cost_bytes: int) -> bool:
    return window.take(cost_bytes, deadline=0.0, before_waiting=nothing)


def test_the_count_is_bounded() -> None:
    window = Window(WindowSize(messages=2, bytes=1000))
    assert [now_or_never(window, 1) for _ in range(3)] == [True, True, False]
    window.give(1, 1)
    assert now_or_never(window, 1)


def test_the_bytes_are_bounded() -> None:
    window = Window(WindowSize(messages=100, bytes=10))
    assert now_or_never(window, 6)
    assert not now_or_never(window, 5)
    assert now_or_never(window, 4)
    window.give(1, 6)
    assert now_or_never(window, 6)


def test_a_message_larger_than_the_window_goes_when_it_is_alone() -> None:
    window = Window(WindowSize(messages=100, bytes=10))
    assert now_or_never(window, 1)
    assert not now_or_never(window, 11)
    window.give(1, 1)
    assert now_or_never(window, 11)
    assert not now_or_never(window, 1)


def test_who_waits_gets_the_place_that_is_given_back() -> None:
    window = Window(WindowSize(messages=1, bytes=10))
    assert now_or_never(window, 1)
    waiting = threading.Event()
    got: list[bool] = []
    waiter = threading.Thread(
        target=lambda: got.append(window.take(1, deadline=None, before_waiting=waiting.set))
    )
    waiter.start()
    assert waiting.wait(10)
    window.give(1, 1)
    waiter.join(10)
    assert got == [True]


def test_closing_sends_the_waiters_away_and_gives_no_more_places() -> None:
    window = Window(WindowSize(messages=1, bytes=10))
    assert now_or_never(window, 1)
    waiting = threading.Event()
    got: list[bool] = []
    waiter = threading.Thread(
        target=lambda: got.append(window.take(1, deadline=None, before_waiting=waiting.set))
    )
    waiter.start()
    assert waiting.wait(10)
    window.close()
    waiter.join(10)
    assert got == [False]
    window.give(1, 1)
    assert not now_or_never(window, 1)
    assert window.is_closed
