"""When freed memory is given back, and when it is left where it is."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable

import pytest

from reference_broker.core.base.limits import MIB
from reference_broker.runtime.process.heap_trimmer import (
    FREE_BYTES_MIN,
    LOOK_INTERVAL_S,
    QUIET_CPU_RATIO,
    HeapTrimmer,
    own_bytes,
)

BARE = 50 * MIB


class Timer:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Process:
    """One whose heap keeps what was freed, until it is trimmed."""

    def __init__(self) -> None:
        self.held = 0
        self.own = BARE
        self.stuck = 0
        self.cpu = 0.0
        self.trims = 0
        self.counts = 0
        self.timers: list[tuple[float, Callable[[], None], Timer]] = []
        self.trimmer = HeapTrimmer(
            self.call_later,
            self.count,
            self.trim,
            own_bytes=lambda: self.own,
            cpu_s=lambda: self.cpu,
        )

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Timer:
        timer = Timer()
        self.timers.append((delay_s, call, timer))
        return timer

    def count(self, answer: Callable[[int], None]) -> None:
        self.counts += 1
        answer(self.held)

    def trim(self) -> None:
        self.trims += 1
        self.own = BARE + self.held + self.stuck

    def holds(self, held: int) -> None:
        self.held = held
        self.own = max(self.own, BARE + held)

    def look(self, cpu_ratio: float = 0.0) -> int:
        """A look later: how often it was trimmed so far."""
        ((delay_s, call, _),) = self.timers
        assert delay_s == LOOK_INTERVAL_S
        self.cpu += delay_s * cpu_ratio
        self.timers.clear()
        call()
        return self.trims


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_backlog_that_is_gone_goes_back_once(process: Process) -> None:
    process.holds(500 * MIB)
    assert process.look() == 0
    process.holds(0)
    assert process.look() == 1
    assert process.own == BARE
    assert process.look() == process.look() == 1
    process.holds(500 * MIB)
    process.holds(0)
    assert process.look() == 2, "a backlog between two looks is seen by what it left"


def test_what_is_held_is_no_reason_nor_is_a_little(process: Process) -> None:
    process.holds(500 * MIB)
    process.holds(500 * MIB - FREE_BYTES_MIN + 1)
    assert process.look() == 0
    process.holds(500 * MIB - FREE_BYTES_MIN)
    assert process.look() == 1
    process.holds(0)
    assert process.look() == 2


def test_a_busy_broker_is_left_alone_until_it_is_quiet(process: Process) -> None:
    process.holds(500 * MIB)
    process.holds(0)
    assert process.look(QUIET_CPU_RATIO) == 0
    assert process.look(QUIET_CPU_RATIO * 0.9) == 1


def test_what_can_not_be_given_back_is_not_asked_for_again(process: Process) -> None:
    process.stuck = 300 * MIB
    process.holds(500 * MIB)
    process.holds(0)
    assert process.look() == process.look() == 1
    process.own += FREE_BYTES_MIN
    assert process.look() == 2


def test_accounts_that_say_too_much_hide_nothing_later(process: Process) -> None:
    process.held, process.own = 500 * MIB, BARE + 400 * MIB
    assert process.look() == 0
    process.held = 300 * MIB
    assert process.look() == 1


def test_nothing_is_counted_while_the_process_has_not_grown(process: Process) -> None:
    process.own += FREE_BYTES_MIN - 1
    process.look()
    assert process.counts == 1, "the one of the start"


def test_closed_it_looks_no_more(process: Process) -> None:
    process.look()
    process.trimmer.close()
    assert process.timers[-1][2].cancelled


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_the_process_has_for_itself() -> None:
    # Not malloc's: that may have what an earlier test has freed, and the process would not grow.
    with mmap.mmap(-1, 32 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
        before = own_bytes()
        block.write(b"x" * len(block))
        assert own_bytes() - before > 30 * MIB
