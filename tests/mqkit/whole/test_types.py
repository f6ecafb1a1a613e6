"""Types: forty right programs and forty wrong ones, as mypy and pyright see them."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent
WRONG = PROGRAMS / "wrong_programs.py"
RIGHT = PROGRAMS / "right_programs.py"
MARK = "# wrong"
NUMBER = 40

Refused = Callable[[tuple[Path, ...]], dict[str, set[int]]]
"""The lines that a checker refuses, by file."""


def environment() -> dict[str, str]:
    return {**os.environ, "MYPYPATH": "", "NO_COLOR": "1"}


def by_mypy(files: tuple[Path, ...]) -> dict[str, set[int]]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty"]
    run = subprocess.run(
        [*command, *map(str, files)], capture_output=True, text=True, env=environment()
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    refused: dict[str, set[int]] = {}
    for match in re.finditer(r"^(.*?):(\d+): error:", run.stdout, re.MULTILINE):
        refused.setdefault(Path(match[1]).name, set()).add(int(match[2]))
    return refused


def by_pyright(files: tuple[Path, ...]) -> dict[str, set[int]]:
    """Strict: so says the configuration beside the programs, which names the files, too."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run(
        [*command, "-p", str(PROGRAMS)], capture_output=True, text=True, env=environment()
    )
    refused: dict[str, set[int]] = {}
    for found in json.loads(run.stdout)["generalDiagnostics"]:
        if found["severity"] == "error":
            line = found["range"]["start"]["line"] + 1
            refused.setdefault(Path(found["file"]).name, set()).add(line)
    return refused


def programs(file: Path) -> list[ast.AST]:
    tree = ast.parse(file.read_text())
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and re.fullmatch(r"[pw]\d\d_\w+", node.name)
    ]


def marked() -> set[int]:
    lines = WRONG.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(MARK)}


def test_there_are_so_many_and_each_wrong_one_is_wrong_somewhere() -> None:
    assert len(programs(RIGHT)) == NUMBER
    wrong = programs(WRONG)
    assert len(wrong) == NUMBER
    for program in wrong:
        assert isinstance(program, ast.FunctionDef | ast.AsyncFunctionDef)
        assert program.end_lineno is not None
        assert marked() & set(range(program.lineno, program.end_lineno + 1)), program.name


@pytest.mark.parametrize("checker", [by_mypy, by_pyright], ids=["mypy", "pyright"])
def test_right_programs_are_taken_and_wrong_ones_refused_where_they_are_wrong(
    checker: Refused,
) -> None:
    refused = checker((RIGHT, WRONG))
    assert refused.get(RIGHT.name, set()) == set()
    assert refused.get(WRONG.name, set()) == marked()
