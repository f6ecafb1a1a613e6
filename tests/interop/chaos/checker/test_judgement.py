"""All laws over files: a broken file is caught by the program itself, with its line printed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.chaos.checker.judgement import LAWS, history_in, judge
from interop.chaos.checker.messages import AT_THE_BROKER, KEPT
from interop.chaos.checker.sample import GoodRun, a
from interop.chaos.facts import STDERR

ROOT = Path(__file__).parents[4]


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "interop.chaos.checker", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_good_run_is_exit_code_0(tmp_path: Path) -> None:
    GoodRun().write(tmp_path)
    checked = check(tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert "OFFENCE" not in checked.stdout
    assert checked.stdout.count(" held\n") == len(LAWS)


def test_a_lost_message_is_exit_code_1_and_its_lines_are_shown(tmp_path: Path) -> None:
    run = GoodRun()
    run.message("p1-x", 5.0, handled=False)
    run.write(tmp_path)
    checked = check(tmp_path)
    assert checked.returncode == 1
    assert f"OFFENCE, {KEPT}: p1-x for work.0 is Confirmed, and nowhere" in checked.stdout
    assert '"fact":"acked","id":"p1-x"' in checked.stdout


def broken_confirm(run: GoodRun) -> None:
    run.message("p1-x", 5.0, wire="")


def broken_rejection(run: GoodRun) -> None:
    run.message("p1-x", 5.0, was="Rejected", reason="UNROUTABLE", handled=False)


def broken_keeping(run: GoodRun) -> None:
    run.message("p1-x", 5.0, handled=False)


def broken_publish(run: GoodRun) -> None:
    run.message("p1-x", 5.0, takes_s=9.0)


def broken_answer(run: GoodRun) -> None:
    run.call(10_000, 5.0, end={"fact": "answered", "answer": 1})


def broken_call(run: GoodRun) -> None:
    run.call(10_000, 5.0, takes_s=9.0)


def broken_question(run: GoodRun) -> None:
    run.call(10_000, 5.0, begins_after_s=9.0)


def broken_end(run: GoodRun) -> None:
    run.run[-1] = a(46.0, "app exited", code=1)


def broken_recovery(run: GoodRun) -> None:
    run.between(10.0, 15.0, ("begin",))


BREAKS: tuple[Callable[[GoodRun], None], ...] = (
    broken_confirm,
    broken_rejection,
    broken_keeping,
    broken_publish,
    broken_answer,
    broken_call,
    broken_question,
    broken_end,
    broken_recovery,
)


@pytest.mark.parametrize(("place", "break_it"), list(enumerate(BREAKS)))
def test_each_law_is_broken_by_its_own_break_and_by_no_other(
    tmp_path: Path, place: int, break_it: Callable[[GoodRun], None]
) -> None:
    run = GoodRun()
    break_it(run)
    run.write(tmp_path)
    verdicts = judge(history_in(tmp_path))
    broken = [number for number, verdict in enumerate(verdicts) if verdict.offences]
    assert len(verdicts) == len(BREAKS)
    assert broken == [place]


def test_stderr_is_read(tmp_path: Path) -> None:
    GoodRun().write(tmp_path)
    (tmp_path / STDERR).write_text("RuntimeWarning: coroutine 'x' was never awaited\n")
    assert check(tmp_path).returncode == 1


def test_no_facts_are_no_good_run(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 1


def test_the_verdicts_name_their_laws() -> None:
    names = [verdict.law for verdict in judge(GoodRun().history)]
    assert len(set(names)) == len(LAWS)
    assert names[0] == AT_THE_BROKER


def test_the_checker_imports_nothing_of_mqkit() -> None:
    program = (
        "import sys, interop.chaos.checker.__main__;"
        "print([name for name in sys.modules if name.split('.')[0].startswith("
        "('mqkit', 'reference_broker', 'aio_pika', 'aiormq', 'pamqp'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
