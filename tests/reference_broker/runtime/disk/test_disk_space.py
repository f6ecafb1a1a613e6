"""The watch over the disk: when publishers are stopped, when they go on, when it looks again."""

from __future__ import annotations

import errno
from collections.abc import Callable

from reference_broker.runtime.disk.disk_space import (
    FILL_BYTES_PER_S,
    INTERVAL_MAX_S,
    INTERVAL_MIN_S,
    DiskSpace,
)

LIMIT = 1000


class Timer:
    def __init__(self, delay_s: float, callback: Callable[[], None]) -> None:
        self.delay_s = delay_s
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Keeps the timers; a test says when they fire."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(Timer(delay_s, callback))
        return self.timers[-1]

    @property
    def pending(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.cancelled]


class Watched:
    """A disk with as much room as the test says, and what the server was told."""

    def __init__(self, free: int) -> None:
        self.free: int | OSError = free
        self.told: list[str] = []
        self.loop = Loop()
        self.spare_missing = False
        self.spares_asked = 0
        self.space = DiskSpace(self.loop.call_later, self.free_bytes, LIMIT, self, self)

    def free_bytes(self) -> int:
        if isinstance(self.free, OSError):
            raise self.free
        return self.free

    def retry_spare(self) -> None:
        self.spares_asked += 1

    def disk_low(self) -> None:
        self.told.append("low")

    def disk_recovered(self) -> None:
        self.told.append("recovered")


def test_the_limit_itself_is_enough_and_one_byte_less_is_not() -> None:
    assert Watched(LIMIT).told == []
    watched = Watched(LIMIT - 1)
    assert watched.told == ["low"]
    assert watched.space.low


def test_each_change_is_told_once() -> None:
    watched = Watched(LIMIT * 2)
    for free in (10, 20, LIMIT, LIMIT * 5, 0):
        watched.free = free
        watched.loop.pending[-1].callback()
    assert watched.told == ["low", "recovered", "low"]


def test_a_missing_spare_is_low_however_much_is_said_to_be_free() -> None:
    watched = Watched(LIMIT * 2)
    watched.spare_missing = True
    watched.space.look()
    watched.space.look()
    assert watched.told == ["low"]
    watched.free = 0
    watched.spare_missing = False
    watched.space.look()
    assert watched.told == ["low"], "the spare is there again, but the limit isn't kept"
    watched.free = LIMIT
    watched.space.look()
    assert watched.told == ["low", "recovered"]


def test_a_retry_asks_for_the_spare_and_sees_that_none_is_wanted_any_more() -> None:
    watched = Watched(LIMIT)
    watched.spare_missing = True
    watched.space.retry()
    assert (watched.spares_asked, watched.told) == (1, ["low"])
    watched.spare_missing = False
    watched.space.retry()
    assert (watched.spares_asked, watched.told) == (2, ["low", "recovered"])


def test_a_look_finds_a_spare_that_is_wanted_larger_though_nothing_was_said_of_it() -> None:
    """Somebody waits for one as large as what was refused, and nothing is to be made just now."""
    watched = Watched(LIMIT)
    watched.spare_missing = True
    watched.loop.pending[-1].callback()
    assert watched.told == ["low"]
    watched.spare_missing = False
    watched.loop.pending[-1].callback()
    assert watched.told == ["low", "recovered"]


def test_it_looks_more_often_the_nearer_the_limit_is() -> None:
    watched = Watched(LIMIT)
    for free, delay_s in (
        (LIMIT + 1000 * FILL_BYTES_PER_S, INTERVAL_MAX_S),
        (LIMIT + 4 * FILL_BYTES_PER_S, 4.0),
        (LIMIT + 1, INTERVAL_MIN_S),
        (0, INTERVAL_MIN_S),
    ):
        watched.free = free
        watched.space.look()
        (timer,) = watched.loop.pending
        assert timer.delay_s == delay_s
    watched.space.close()
    watched.space.close()
    assert watched.loop.pending == []


def test_a_disk_that_cannot_be_asked_changes_nothing() -> None:
    watched = Watched(0)
    watched.free = OSError(errno.EIO, "Input/output error")
    watched.space.look()
    assert watched.told == ["low"]
    assert len(watched.loop.pending) == 1
