"""Style that a machine can hold: sizes, banned words, banned names, no sleeping tests."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
MEDIAN_LINES = (40, 200)
SOURCE_FOLDERS = (
    "mqkit",
    "reference_broker",
    "cli",
    "spark",
    "bench",
    "fuzz",
    "interop",
    "examples",
)
BANNED_FILE_NAMES = {"utils.py", "util.py", "helpers.py", "helper.py", "common.py", "misc.py"}
# Spelled in halves, so that this file does not trip over itself.
UNFINISHED = re.compile(
    "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "NotImplemented" + "Error"])
)
REGISTRY_HOSTS = re.compile(
    r"https?://[\w.-]*(" + "|".join(["py" + "pi", "pythonhos" + "ted", "npm" + "js"]) + r")[\w.-]*"
)
SLEEPS = re.compile(r"\btime\.sleep\(|(?:asyncio|anyio)\.sleep\((?!0\))")


def tracked(*suffixes: str) -> list[Path]:
    """The repository's files, as git sees them (committed or not yet, ignored ones left out)."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [ROOT / name for name in listing if name.endswith(suffixes) and (ROOT / name).is_file()]


def sources() -> list[Path]:
    return [p for p in tracked(".py") if p.relative_to(ROOT).parts[0] in SOURCE_FOLDERS]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_too_long() -> None:
    sizes = {relative(p): p.read_text().count("\n") for p in tracked(".py")}
    assert {name: n for name, n in sizes.items() if n > FILE_LINES_MAX} == {}


def test_the_median_file_is_short() -> None:
    sizes = sorted(p.read_text().count("\n") for p in sources() if p.name != "__init__.py")
    low, high = MEDIAN_LINES
    assert low <= sizes[len(sizes) // 2] <= high


def test_no_function_is_too_long() -> None:
    long = {
        f"{relative(path)}:{node.lineno} {node.name}": length
        for path in tracked(".py")
        for node in functions(path)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        relative(p)
        for p in sources()
        if not (ast.get_docstring(ast.parse(p.read_text())) or "").strip(".")
    ]
    assert silent == []


def test_files_are_named_for_their_noun() -> None:
    assert [relative(p) for p in tracked(".py") if p.name in BANNED_FILE_NAMES] == []


def test_nothing_is_left_unfinished() -> None:
    found = {
        relative(p): m.group(0) for p in tracked(".py") if (m := UNFINISHED.search(p.read_text()))
    }
    assert found == {}


def test_no_file_names_a_registry() -> None:
    readable = tracked(".py", ".toml", ".md", ".yaml", ".yml", ".txt", ".cfg", "Makefile", "run")
    found = {
        relative(p): m.group(0) for p in readable if (m := REGISTRY_HOSTS.search(p.read_text()))
    }
    assert found == {}


def test_tests_do_not_sleep() -> None:
    tests = [p for p in tracked(".py") if p.relative_to(ROOT).parts[0] == "tests"]
    assert len(tests) > 1
    assert [
        relative(p) for p in tests if p != Path(__file__) and SLEEPS.search(p.read_text())
    ] == []


MIRRORED = {"mqkit": ".", "reference_broker": ".", "mqkit_cli": "cli", "mqkit_spark": "spark",
            "mqkit_bench": "bench", "interop": ".", "fuzz": "."}  # fmt: skip
"""Folders below ``tests/`` that mirror a package, and the folder that the package stands in."""
WHOLE = "whole"
"""A folder of tests that are about the room above it, and about no single module of it."""


def test_tests_mirror_the_source() -> None:
    """``a/b/test_c.py`` tests ``a/b/c.py``, or ``a/b/__c__.py``; each other test is in a whole/."""
    astray = []
    for path in tracked(".py"):
        top, *between = path.relative_to(ROOT).parts[1:-1] or [""]
        if path.relative_to(ROOT).parts[0] != "tests" or top not in MIRRORED:
            continue
        room = ROOT.joinpath(MIRRORED[top], top, *between)
        noun = path.stem.removeprefix("test_")
        modules = (room / f"{noun}.py", room / f"__{noun}__.py")
        of_the_room = room.name == WHOLE and room.parent.is_dir()
        if path.name != "conftest.py" and not of_the_room and not any(m.exists() for m in modules):
            astray.append(relative(path))
    assert astray == []


@pytest.mark.parametrize("banned", ["async def ", "await "])
def test_the_core_is_synchronous(banned: str) -> None:
    core = [p for p in sources() if "reference_broker/core/" in relative(p)]
    assert len(core) > 1
    assert [relative(p) for p in core if banned in p.read_text()] == []


def test_the_core_never_iterates_a_set() -> None:
    """Order would depend on the hash seed, and a simulated run could not be reproduced."""
    offenders = [
        f"{relative(path)}:{node.iter.lineno}"
        for path in sources()
        if "reference_broker/core/" in relative(path)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.For | ast.comprehension)
        and isinstance(node.iter, ast.Set | ast.SetComp | ast.Call)
        and (
            not isinstance(node.iter, ast.Call)
            or getattr(node.iter.func, "id", "") in {"set", "frozenset"}
        )
    ]
    assert offenders == []
