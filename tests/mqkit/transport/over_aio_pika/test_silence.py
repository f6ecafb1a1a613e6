"""A silent broker is gone within two heartbeat intervals."""

from __future__ import annotations

from collections.abc import Callable

from mqkit.transport.over_aio_pika.silence import SilenceWatch


class Clock:
    """``call_later`` for a test: the time passes when it says so."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.due: list[tuple[float, Callable[[], None]]] = []
        self.heard = False
        self.gone_at: list[float] = []

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Clock:
        self.due.append((self.now_s + delay_s, call))
        return self

    def cancel(self) -> None:
        self.due.clear()

    def take_heard(self) -> bool:
        heard, self.heard = self.heard, False
        return heard

    def watch(self, heartbeat_s: int) -> SilenceWatch:
        return SilenceWatch(
            heartbeat_s, self.call_later, self.take_heard, lambda: self.gone_at.append(self.now_s)
        )

    def run_until(self, until_s: float) -> None:
        while self.due and self.due[0][0] <= until_s:
            self.now_s, call = self.due.pop(0)
            call()
        self.now_s = until_s


def test_two_silent_intervals_are_the_end_and_it_is_told_once() -> None:
    clock = Clock()
    clock.watch(20)
    clock.run_until(4.9)
    clock.heard = True  # at 4.9 s, and nothing after it
    clock.run_until(1_000)
    (gone_at,) = clock.gone_at
    assert 1.5 * 20 < gone_at - 4.9 <= 2 * 20


def test_a_word_now_and_then_is_enough() -> None:
    clock = Clock()
    clock.watch(20)
    for second in range(0, 600, 10):
        clock.run_until(second)
        clock.heard = True
    assert clock.gone_at == []


def test_it_looks_no_more_when_it_is_stopped_and_not_at_all_without_heartbeats() -> None:
    clock = Clock()
    watch = clock.watch(20)
    watch.stop()
    watch.stop()
    clock.watch(0)
    assert clock.due == []
