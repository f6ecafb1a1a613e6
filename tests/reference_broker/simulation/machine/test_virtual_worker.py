from __future__ import annotations

import errno
from random import Random

import pytest

from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.virtual_worker import StepwiseWorker, VirtualWorker
from reference_broker.store import Disk
from reference_broker.store.disk.ports import CreateFile, DeleteFile, Sync, Write
from reference_broker.store.rewrite.copy_file import CopyFailed

STEP_US = (1_000, 1_000)
LONG_US = 1_000_000


class Rig:
    """A worker by steps, and what it was heard to say."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.disk = PoweredDisk()
        self.worker = StepwiseWorker(self.clock, Random(1), self.disk, lambda: STEP_US)
        self.said: list[object] = []

    def submit(self) -> None:
        self.worker.submit(lambda: copy(self.worker.disk), self.said.append)

    def run(self, us: int = LONG_US) -> None:
        self.clock.run(self.clock.now_us + us)


def copy(disk: Disk) -> str:
    """A job of three operations, and one more where something fails; it can't do anything about a
    file that can't be deleted."""
    try:
        disk.perform(CreateFile("f", 0))
        disk.perform(Write("f", 0, [b"text"]))
        disk.perform(Sync("f"))
    except OSError as error:
        disk.perform(DeleteFile("f"))
        raise CopyFailed("no copy") from error
    finally:
        disk.close()
    return "copied"


def test_each_step_has_its_time_and_the_answer_comes_after_all() -> None:
    rig = Rig()
    rig.submit()
    assert rig.disk.list_files() == []
    rig.run(1_500)
    assert (rig.disk.list_files(), rig.disk.size("f")) == (["f"], 0)
    rig.run(1_000)
    assert rig.disk.size("f") == 4
    assert rig.said == []
    rig.run()
    assert rig.said == ["copied"]
    assert rig.disk.operations == 3


@pytest.mark.parametrize("failed", [1, 2, 3])
def test_a_job_meets_the_error_of_its_step_and_says_what_comes_of_it(failed: int) -> None:
    rig = Rig()
    rig.disk.perform(CreateFile("f", 0))
    rig.submit()
    rig.disk.fail_at(failed, errno.EIO)
    rig.run()
    assert rig.disk.list_files() == [], "it was deleted"
    (said,) = rig.said
    assert isinstance(said, CopyFailed)


def test_what_fails_while_it_is_given_up_is_met_too() -> None:
    rig = Rig()
    rig.submit()
    rig.disk.fail_at(2, errno.ENOSPC)
    rig.disk.fail_at(3, errno.EIO)
    rig.run()
    (said,) = rig.said
    assert isinstance(said, OSError)
    assert said.errno == errno.EIO
    assert rig.disk.list_files() == ["f"]


def test_the_next_job_has_nothing_of_the_one_before() -> None:
    rig = Rig()
    rig.submit()
    rig.disk.fail_at(1)
    rig.run()
    rig.submit()
    rig.run()
    assert rig.said[1:] == ["copied"]


def test_a_process_that_is_gone_does_no_further_step() -> None:
    rig = Rig()
    rig.submit()
    rig.run(1_500)
    rig.worker.stop()
    rig.run()
    rig.worker.close()
    assert (rig.disk.operations, rig.said) == (1, [])


def test_a_stop_waits_for_the_job_and_tells_nobody() -> None:
    rig = Rig()
    rig.submit()
    rig.run(1_500)
    rig.worker.close()
    rig.worker.close()
    assert rig.disk.operations == 3
    rig.run()
    assert rig.said == []


def test_another_does_each_job_at_one_moment_in_the_order_of_asking() -> None:
    clock, disk, said = SimulatedClock(), PoweredDisk(), list[object]()
    worker = VirtualWorker(clock, Random(1))
    worker.submit(lambda: copy(disk), said.append)
    worker.submit(lambda: len(disk.list_files()), said.append)
    assert disk.operations == 0
    clock.run(LONG_US)
    assert said == ["copied", 1]
    worker.submit(lambda: copy(disk), said.append)
    worker.stop()
    clock.run(2 * LONG_US)
    assert disk.operations == 3


def test_an_error_that_nobody_foresees_is_a_finding() -> None:
    clock = SimulatedClock()
    worker = VirtualWorker(clock, Random(1))
    worker.submit(lambda: 1 // 0, lambda outcome: None)
    with pytest.raises(ZeroDivisionError):
        clock.run(LONG_US)
