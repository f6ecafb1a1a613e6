from __future__ import annotations

import re

import pytest

from reference_broker.core.queue.queue import Queue
from reference_broker.simulation.__main__ import main


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
    assert main(["--seeds", "1", "--first", "7", "--jobs", "1"]) == 1
    printed = capsys.readouterr()
    assert "FAILED  seed 7: " in printed.out
    assert "  python -m reference_broker.simulation --seed 7\n" in printed.out
    assert "FAILED" in printed.err
    assert main(["--seed", "7"]) == 1


def test_a_mistake_of_the_broker_is_a_finding_with_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Queue) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(Queue, "dispatch", broken)
    assert main(["--seed", "7"]) == 1
    assert "Traceback" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [[], ["--seeds", "0"], ["--seeds", "2", "--jobs", "0"], ["--seed", "1", "--seeds", "2"]],
)
def test_a_wrong_command_line_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
