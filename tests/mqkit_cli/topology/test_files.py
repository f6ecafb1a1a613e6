"""The option -f: one file or several, with the environment's variables, in every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

BASE = "queues:\n  ${QUEUE:-email}:\n    max_length: ${MOST:-100}\n    overflow: drop-head\n"
COMMANDS = ("validate", "plan", "apply", "diff")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "prod.yaml").write_text("queues:\n  email:\n    max_length: 5\n  new:\n")
    return ["-f", "base.yaml", "--file", "prod.yaml"]


def test_several_files_are_laid_over_each_other(mqkit: Any, files: list[str]) -> None:
    answer = mqkit("topology", "validate", *files)
    assert answer.stdout == (
        "base.yaml + prod.yaml: valid, declares 0 exchanges, 2 queues, 0 bindings\n"
    )
    planned = mqkit("topology", "plan", *files, "--json")
    assert planned.returncode == 2
    steps = {step["name"] for step in json.loads(planned.stdout)["steps"]}
    assert steps == {"email", "new"}


def test_variables_come_from_the_environment(mqkit: Any, files: list[str]) -> None:
    answer = mqkit("topology", "plan", "-f", "base.yaml", "--json", QUEUE="orders")
    assert [step["name"] for step in json.loads(answer.stdout)["steps"]] == ["orders"]
    answer = mqkit("topology", "validate", "-f", "base.yaml", MOST="many")
    assert answer.returncode == 1
    assert "base.yaml:3: queues.email.max_length: 'many' is not a whole number" in answer.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_variable_without_a_value_is_a_fault_with_its_line(
    mqkit: Any, tmp_path: Path, command: str
) -> None:
    (tmp_path / "topology.yaml").write_text("queues:\n  ${NOBODYS_QUEUE}: {}\n")
    answer = mqkit("topology", command)
    assert answer.returncode == 1
    assert answer.stderr == (
        "mqkit: topology.yaml:2: ${NOBODYS_QUEUE} has no value and no default"
        " (set NOBODYS_QUEUE, or write ${NOBODYS_QUEUE:-default})\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_fault_names_the_file_that_said_it(
    mqkit: Any, files: list[str], tmp_path: Path, command: str
) -> None:
    (tmp_path / "bad.yaml").write_text("queues:\n  new: {typ: quorum}\n")
    answer = mqkit("topology", command, *files, "-f", "bad.yaml")
    assert answer.returncode == 1
    assert answer.stderr == (
        "mqkit: bad.yaml:2: queues.new: unknown key 'typ' (did you mean 'type'?)\n"
    )


def test_faults_of_several_files_for_programs(mqkit: Any, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("queues:\n  new: {typ: quorum}\n")
    found = json.loads(mqkit("topology", "validate", *files, "-f", "bad.yaml", "--json").stdout)
    assert found["files"] == ["base.yaml", "prod.yaml", "bad.yaml"]
    assert [(fault["file"], fault["line"]) for fault in found["faults"]] == [("bad.yaml", 2)]
    (tmp_path / "bytes.yaml").write_bytes(b"\xff")
    answer = mqkit("topology", "validate", "-f", "bytes.yaml", "--json")
    assert answer.returncode == 1
    (fault,) = json.loads(answer.stdout)["faults"]
    assert (fault["file"], fault["line"]) == ("bytes.yaml", 1)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["base.yaml", "none.yaml"], "there is no file none.yaml: name the topology with --file"),
        (["base.yaml", "."], ". is a directory: name the topology's file"),
        (["base.yaml", "link.yaml"], "link.yaml: the same file as base.yaml (name each file once)"),
        (["huge.yaml"], "huge.yaml: the file is larger than 4194304 bytes, which is the limit"),
        (["base.yaml", "huge.yaml"], "huge.yaml: the files together are larger than 4194304"),
        (["many.yaml"], "many.yaml:20002: more than 20000 in one mapping or list, the limit"),
        (["ring.yaml"], "ring.yaml: can't be read: Too many levels of symbolic links"),
        (["anchors.yaml"], "anchors.yaml:2: the alias *a has no anchor &a before it"),
        (["twice.yaml"], "twice.yaml:2: the value of TWICE has a variable in it, which is not"),
        (["inner.yaml"], "inner.yaml:2: '${A:-${B...' has a variable in its default, which is not"),
    ],
)
def test_bad_input_is_one_line(
    mqkit: Any, files: list[str], tmp_path: Path, command: str, given: list[str], said: str
) -> None:
    (tmp_path / "link.yaml").symlink_to("base.yaml")
    (tmp_path / "ring.yaml").symlink_to("ring.yaml")
    (tmp_path / "anchors.yaml").write_text("queues: &a\n  q: *a\n")
    (tmp_path / "twice.yaml").write_text("queues:\n  ${TWICE}:\n")
    (tmp_path / "inner.yaml").write_text("queues:\n  ${A:-${B}}:\n")
    with (tmp_path / "huge.yaml").open("wb") as huge:
        huge.truncate(50 * 1024 * 1024)
    if "many.yaml" in given:
        queues = "".join(f"  q{n}: {{}}\n" for n in range(100_000))
        (tmp_path / "many.yaml").write_text(f"queues:\n{queues}")
    options = [part for file in given for part in ("-f", file)]
    answer = mqkit("topology", command, *options, TWICE="${OTHER}")
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"mqkit: {said}")
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_says_that_there_may_be_several(mqkit: Any, command: str) -> None:
    said = " ".join(mqkit("topology", command, "--help").stdout.split())
    assert "-f, --file FILE The topology, in YAML. Several are laid over each other" in said
