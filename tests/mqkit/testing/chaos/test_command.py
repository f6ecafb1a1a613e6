"""``python -m mqkit.testing chaos``: its exit codes and its lines."""

from __future__ import annotations

import sys

import pytest

from mqkit.testing import __main__ as program


def test_the_exit_code_is_the_commands(capfd: pytest.CaptureFixture[str]) -> None:
    code = program.main(["chaos", "--seed", "7", "--", sys.executable, "-c", "raise SystemExit(3)"])
    assert code == 3
    assert capfd.readouterr().err.splitlines()[0] == "chaos: --seed 7"


def test_a_seed_is_chosen_and_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert program.main(["chaos", "--", sys.executable, "-c", ""]) == 0
    assert capfd.readouterr().err.startswith("chaos: --seed ")


@pytest.mark.parametrize("seconds", ["0", "0.0"])
def test_a_service_that_is_ended_has_done_well(seconds: str) -> None:
    options = ["--seconds", seconds, "--quiet", "0"]
    code = "import signal; signal.pause()"
    assert program.main(["chaos", *options, "--", sys.executable, "-c", code]) == 0


def test_a_signal_is_told_as_a_shell_does() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert program.main(["chaos", "--", sys.executable, "-c", code]) == 128 + 9


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--", "no-such-program"], "chaos: no-such-program: No such file or directory\n"),
        (["--url", "http://u:secret@x/", "--", "true"], "chaos: an AMQP URL starts with"),
    ],
)
def test_what_can_not_be_run_is_told_in_a_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["chaos", *arguments]) == 1
    said = capsys.readouterr().err
    assert told in said
    assert "secret" not in said


def test_without_a_command_it_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["chaos"])
    assert ended.value.code == 2
    assert "usage: python -m mqkit.testing chaos" in capsys.readouterr().err
