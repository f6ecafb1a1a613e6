"""The process of a driver program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.spark_cluster import until
from interop.spark_sink.driver import Driver, DriverFailed

ECHO = """
import sys
print("not an answer", flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
"""
WITH_A_CHILD = """
import os, subprocess, sys
# As Spark's Python workers: in a process group of its own, and gone when nobody writes to it.
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, process_group=0)
print("{}", flush=True)
sys.stdin.read()
"""
WITHIN_S = 60.0

Start = Callable[[str], Driver]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    drivers: list[Driver] = []

    def started(program: str) -> Driver:
        (tmp_path / "program.py").write_text(program)
        drivers.append(Driver("program", log=tmp_path / "driver.log"))
        return drivers[-1]

    yield started
    for driver in drivers:
        driver.leave_nothing()


def test_a_question_is_answered_by_a_line(start: Start) -> None:
    driver = start(ECHO)
    assert driver.answer(0) is None
    driver.ask({"round": 1})
    driver.ask({"round": 2})
    assert driver.answer(WITHIN_S) == {"round": 1}
    assert driver.answer(WITHIN_S) == {"round": 2}
    driver.end()
    assert driver.pids() == []


def test_a_program_that_has_ended_is_told_with_the_end_of_its_log(start: Start) -> None:
    driver = start("raise SystemExit('no Java')")
    for _ in range(2):
        with pytest.raises(DriverFailed, match="the driver ended with 1: no Java"):
            driver.answer(WITHIN_S)


def test_what_a_killed_program_has_started_is_waited_for(start: Start) -> None:
    driver = start(WITH_A_CHILD)
    assert driver.answer(WITHIN_S) == {}
    assert len(driver.pids()) == 2
    driver.kill()
    driver.leave_nothing()
    assert driver.pids() == []


def test_a_program_that_runs_is_killed_at_the_end(start: Start) -> None:
    driver = start(WITH_A_CHILD)
    assert driver.answer(WITHIN_S) == {}
    driver.leave_nothing()
    assert until(lambda: driver.pids() == [], WITHIN_S)
