"""Sweeps: everything that a change concerns is looked at, and nobody waits for all of it."""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.vhost.policy_sweep import (
    REFRESH_WORK,
    SLICE_WORK,
    SWEEPS_MAX,
    PolicySweep,
    Subject,
)
from reference_broker.core.work.budget import Budget


class Port:
    """Exchanges with numbers for names. ``later`` is what waits for a tick."""

    def __init__(self, number: int) -> None:
        self.budget = Budget()
        self.all: list[Subject] = [
            Exchange(str(each), ExchangeType.DIRECT) for each in range(number)
        ]
        self.refreshed: list[str] = []
        self.slices = 0
        self.later: list[Callable[[], None]] = []
        self.dropped = 0

    def subjects(self) -> list[Subject]:
        return self.all

    def refresh(self, subject: Subject) -> int:
        self.refreshed.append(subject.name)
        return self.dropped

    def swept(self) -> None:
        self.slices += 1

    def go_on_later(self, callback: Callable[[], None]) -> None:
        self.later.append(callback)

    def finish(self) -> None:
        while self.later:
            assert len(self.later) == 1, "one tick at a time"
            self.later.pop()()


def everything(subject: Subject) -> bool:
    return True


def nothing(subject: Subject) -> bool:
    return False


def test_a_small_one_is_done_at_once() -> None:
    port = Port(3)
    sweep = PolicySweep(port)
    sweep.start(lambda subject: subject.name != "1")
    assert (port.refreshed, port.slices, port.later) == (["0", "2"], 1, [])
    assert not sweep.under_way


def test_a_large_one_goes_in_slices() -> None:
    port = Port(3 * SLICE_WORK)
    sweep = PolicySweep(port)
    sweep.start(nothing)
    assert sweep.under_way
    port.finish()
    assert (port.refreshed, sweep.under_way) == ([], False)
    assert port.slices in (3, 4)

    port.slices = 0
    sweep.start(everything)
    assert 0 < len(port.refreshed) <= SLICE_WORK / REFRESH_WORK
    port.finish()
    assert port.refreshed == [subject.name for subject in port.all]
    assert port.slices > 3 * REFRESH_WORK


def test_what_was_cut_off_is_work_too() -> None:
    port = Port(3)
    port.dropped = SLICE_WORK
    PolicySweep(port).start(everything)
    assert port.refreshed == ["0"]
    port.finish()
    assert port.slices in (3, 4)


def test_changes_follow_each_other() -> None:
    port = Port(2 * SLICE_WORK)
    sweep = PolicySweep(port)
    sweep.start(lambda subject: subject.name == str(SLICE_WORK + 5))
    sweep.start(lambda subject: subject.name == "7")
    assert port.refreshed == []
    port.finish()
    assert port.refreshed == [str(SLICE_WORK + 5), "7"]


def test_many_changes_become_one_look_at_everything() -> None:
    port = Port(SLICE_WORK + 1)
    sweep = PolicySweep(port)
    for _ in range(SWEEPS_MAX + 1):
        sweep.start(nothing)
    port.finish()
    assert port.refreshed == [subject.name for subject in port.all]
