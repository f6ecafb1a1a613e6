"""Completion as shells do it: the installed scripts, and the program that they run on each Tab."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqkit_cli.__main__ import COMPLETING

SHELLS = ("bash", "zsh", "fish")
ATTEMPTS = 10
"""A broker has 300 ms for an answer. On a busy machine that may be too short for once."""

Tab = Callable[..., subprocess.CompletedProcess[str]]


def variables(shell: str, line: str) -> dict[str, str]:
    """The variables that the script of a shell sets for the last word of ``line``."""
    if shell == "bash":
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    else:
        words = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return {COMPLETING: f"complete_{shell}", **words}


def words_of(shell: str, output: str) -> list[str]:
    """The words in an answer. zsh gets a call of ``_arguments``, or of ``_files`` where there is
    no word."""
    if shell != "zsh":
        return output.split()
    if output.strip() == "_files":
        return []
    assert output.startswith("_arguments '*: :((")
    inner = output[len("_arguments '*: :((") :].rstrip().removesuffix("))'")
    return [line.split(":")[0].strip('"') for line in inner.splitlines()]


@pytest.fixture
def tab(clean_environment: dict[str, str]) -> Tab:
    """Runs `mqkit` as the script of a shell does."""

    def run(shell: str, line: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mqkit_cli"],
            capture_output=True,
            text=True,
            env={**clean_environment, **variables(shell, line), **more},
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def parked(mqkit: Any, reference_broker: Any, unique: Callable[[str], str], tmp_path: Path) -> str:
    """The name of a queue that has a parking lot, on the reference broker."""
    name = unique("orders")
    (tmp_path / "topology.yaml").write_text(f"queues:\n  {name}: {{retry: {{after: [1s]}}}}\n")
    assert mqkit("topology", "apply", **at(reference_broker)).returncode == 0
    return name


def at(broker: Any) -> dict[str, str]:
    return {"MQKIT_URL": broker.url, "MQKIT_MANAGEMENT_URL": broker.management_url}


@pytest.mark.parametrize("shell", SHELLS)
def test_names_come_from_the_broker(
    tab: Tab, reference_broker: Any, parked: str, shell: str
) -> None:
    for _ in range(ATTEMPTS):
        done = tab(shell, f"mqkit dlq peek {parked[:-1]}", **at(reference_broker))
        assert done.stderr == ""
        if found := words_of(shell, done.stdout):
            break
    assert found == [f"{parked}.parked"]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_options_need_no_broker(tab: Tab, shell: str) -> None:
    for line, word in (
        ("mqkit broker ru", "run"),
        ("mqkit broker run --message-s", "--message-size-max"),  # `broker run` has its own path
        ("mqkit ctl list_q", "list_queues"),  # and so has `ctl`
    ):
        done = tab(shell, line, MQKIT_MANAGEMENT_URL="http://127.0.0.1:1")
        assert done.stderr == ""
        assert word in words_of(shell, done.stdout)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("command", ["validate", "plan", "apply", "diff"])
def test_options_are_completed_after_several_files(tab: Tab, shell: str, command: str) -> None:
    done = tab(shell, f"mqkit topology {command} -f base.yaml -f prod.yaml --js")
    assert done.stderr == ""
    assert "--json" in words_of(shell, done.stdout)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("silent", [False, True], ids=["nobody", "a server that never answers"])
def test_without_an_answer_there_are_no_names_and_no_words(
    tab: Tab, shell: str, silent: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"http://me:secret@127.0.0.1:{server.getsockname()[1] if silent else 1}"
        done = tab(shell, "mqkit consume o", MQKIT_MANAGEMENT_URL=place, MQKIT_TRACEBACK="1")
    assert words_of(shell, done.stdout) == []
    assert done.stderr == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"MQKIT_MANAGEMENT_URL": "http://me:sec/ret@127.0.0.1"},
        {"MQKIT_MANAGEMENT_URL": "http://127.0.0.1:1", "MQKIT_URL": "amqp://me:sec/ret@h/"},
        {COMPLETING: "complete_tcsh"},
        {COMPLETING: "nonsense"},
        {"COMP_CWORD": "many"},
    ],
    ids=str,
)
def test_whatever_is_wrong_nothing_is_said(tab: Tab, wrong: dict[str, str]) -> None:
    done = tab("bash", "mqkit consume o", **wrong)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_an_extra_that_is_missing_is_not_said_either(without: Callable[..., Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mqkit_cli"],
        capture_output=True,
        text=True,
        env={**without("typer"), **variables("bash", "mqkit consume o")},
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/mqkit.sh"),
        ("zsh", ".zfunc/_mqkit"),
        ("fish", ".config/fish/completions/mqkit.fish"),
    ],
)
def test_the_scripts_are_shown_and_installed(
    shell: str, file: str, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    """For a shell that is named: typer's own variable lets a test do that."""
    environment = {
        **clean_environment,
        "HOME": str(tmp_path),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }

    def run(option: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "mqkit_cli", option, shell],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=True,
        ).stdout

    shown = run("--show-completion")
    assert f"{COMPLETING}=complete_{shell}" in shown
    assert f"{shell} completion installed in {tmp_path / file}" in run("--install-completion")
    assert (tmp_path / file).read_text().strip() == shown.strip()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_a_bash_completes_a_line(
    tmp_path: Path, reference_broker: Any, parked: str, clean_environment: dict[str, str]
) -> None:
    program = tmp_path / "bin" / "mqkit"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m mqkit_cli \"$@\"\n")
    program.chmod(0o755)
    script = (
        'eval "$(mqkit --show-completion)"\n'  # the shell is found out
        f"COMP_WORDS=(mqkit consume {parked[:-1]}); COMP_CWORD=2\n"
        "complete -p mqkit\n"
        f"for n in {{1..{ATTEMPTS}}}; do\n"
        '  _mqkit_completion mqkit; [ -z "$COMPREPLY" ] || break\n'
        "done\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        env={
            **clean_environment,
            **at(reference_broker),
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        },
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o default -F _mqkit_completion mqkit",
        parked,
        f"{parked}.parked",
        f"{parked}.retry.1s",
    ]
