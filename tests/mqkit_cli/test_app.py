"""The command line as a whole: exit codes, help, version, mistyped options."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from typer.testing import CliRunner

from mqkit_cli.app import app

COMMANDS = [
    ["broker", "run"],
    *(["topology", name] for name in ("validate", "plan", "apply", "diff", "export")),
    ["publish"],
    ["consume"],
    *(["dlq", name] for name in ("ls", "peek", "replay", "purge")),
    ["version"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_a_page_of_help(command: list[str]) -> None:
    answer = CliRunner().invoke(app, [*command, "--help"], prog_name="mqkit")
    assert answer.exit_code == 0
    assert f"Usage: mqkit {' '.join(command)}" in answer.output
    # No secret of the environment gets into it, only the variable's name.
    assert "guest:" not in answer.output


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_version(arguments: list[str]) -> None:
    answer = CliRunner().invoke(app, arguments)
    assert (answer.exit_code, answer.output) == (0, f"mqkit {version('mqkit')}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nonsense"], "No such option: --nonsense"),
        (["topology", "plan", "--fiel", "x"], "--fiel"),
        (["topology", "plna"], "No such command 'plna'"),
        (["consume"], "Missing argument"),
        (["consume", "q", "--count", "0"], "--count"),
        (["consume", "q", "--count", "many"], "--count"),
    ],
    ids=" ".join,
)
def test_a_mistyped_command_line_exits_1_in_one_line(
    mqkit: Any, arguments: list[str], said: str
) -> None:
    answer = mqkit(*arguments)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith("mqkit: ")
    assert said in answer.stderr
    assert "--help" in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("group", [[], ["topology"], ["dlq"], ["broker"]])
def test_a_group_alone_shows_its_help_and_exits_1(mqkit: Any, group: list[str]) -> None:
    answer = mqkit(*group)
    assert answer.returncode == 1
    assert "Commands:" in answer.stderr


@pytest.mark.parametrize("command", [["publish", "x", "k", "b"], ["consume", "q"], ["dlq", "ls"]])
def test_without_a_broker_it_says_how_to_name_one(mqkit: Any, command: list[str]) -> None:
    answer = mqkit(*command)
    assert answer.returncode == 1
    assert "--url" in answer.stderr
    assert "MQKIT_URL" in answer.stderr
    assert answer.stderr.count("\n") == 1
