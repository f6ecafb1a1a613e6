from __future__ import annotations

import re

import pytest

from mutants.registry import MUTANTS
from reference_broker.core.queue.queue import Queue
from reference_broker.simulation.__main__ import main
from reference_broker.simulation.plan.fault_profile import Fault


def test_one_seed_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "11"]) == 0
    out = capsys.readouterr().out
    assert "seed      11" in out
    assert re.search(r"^trace     [0-9a-f]{32}$", out, re.MULTILINE)
    assert "ok        every law held" in out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_many_seeds_are_tallied(capsys: pytest.CaptureFixture[str], jobs: str) -> None:
    assert main(["--seeds", "2", "--first", "20", "--jobs", jobs]) == 0
    out = capsys.readouterr().out
    assert "seeds          2, 0 failed" in out
    assert re.search(r"^virtual hours  0\.1\d$", out, re.MULTILINE)
    for figure in ("faults", "confirmed", "gone", "lost           0"):
        assert figure in out


def test_a_failing_seed_exits_with_1_and_says_how_to_replay_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "restore", lambda self, *_: None)
    assert main(["--seeds", "1", "--first", "7", "--jobs", "1", "--no-cut"]) == 1
    printed = capsys.readouterr()
    assert "FAILED  seed 7: " in printed.out
    assert "  python -m reference_broker.simulation --seed 7\n" in printed.out
    assert "FAILED" in printed.err
    assert main(["--seed", "7", "--no-cut"]) == 1
    assert "--cut" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "which", [["--seed", "1"], ["--seeds", "2", "--first", "1", "--jobs", "1"]]
)
def test_a_failing_seed_is_cut_short_and_the_cut_is_the_same_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, which: list[str]
) -> None:
    MUTANTS["store.rewriting_forgets_an_entry"].plant(monkeypatch)
    assert main(which) == 1
    out = capsys.readouterr().out
    shortened = out[out.index("\ncut  ") :].splitlines()
    assert len(shortened) < 60
    cut = re.search(r'^  python -m reference_broker\.simulation --seed 1 --cut "(.*)"$', out, re.M)
    assert cut is not None
    assert main(["--seed", "1", "--cut", cut[1]]) == 1
    again = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("cut  ") for line in again)
    story = next(place for place, line in enumerate(shortened) if line.startswith("story "))
    assert again[-len(shortened[story:]) :] == shortened[story:]


def test_a_cut_that_holds_every_law_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "7", "--cut", "clients=0 strikes= seconds=5"]) == 0
    out = capsys.readouterr().out
    assert "scenario  1 clients" in out
    (faults,) = re.findall("^faults .*", out, re.MULTILINE)
    assert not any(fault.value in faults for fault in Fault)
    assert "ok        every law held" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--seed", "7", "--cut", "clients=9"], "no clients=9 in this seed, which has 0,1,2"),
        (["--seed", "7", "--cut", "x=9"], "'x=9' is no part of a cut; write some of clients=0,2"),
        (["--seeds", "7", "--cut", "clients=0"], "--cut is for one --seed"),
    ],
)
def test_what_is_no_cut_of_a_seed_is_refused(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
    assert line in capsys.readouterr().err


def test_a_mistake_of_the_broker_is_a_finding_with_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Queue) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(Queue, "dispatch", broken)
    assert main(["--seed", "7", "--no-cut"]) == 1
    assert "Traceback" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [[], ["--seeds", "0"], ["--seeds", "2", "--jobs", "0"], ["--seed", "1", "--seeds", "2"]],
)
def test_a_wrong_command_line_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
