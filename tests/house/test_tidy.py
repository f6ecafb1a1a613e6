"""Style that a machine can hold: sizes, banned words, banned names, no sleeping tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_LINES_MAX = 540
TEST_LINES_MAX = 560
FUNCTION_LINES_MAX = 60
FOLDER_MODULES_MAX = 20
PREFIX_MODULES_MAX = 3
"""More modules with one prefix are a folder in disguise."""
MEDIAN_LINES = (40, 200)
SOURCE_FOLDERS = (
    "mqkit",
    "reference_broker",
    "cli",
    "spark",
    "bench",
    "fuzz",
    "interop",
    "mutants",
    "website",
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
VAGUE = re.compile(r"(What|Where|Whether|How)\b")
MODULE_ROLE = re.compile(r":mod:`~?([\w.]+)`")
LAW = re.compile(r"\b[Ll]aws? (\d+)\b")
DOCUMENT = re.compile(r"[\w/-]*\w\.md\b")
SHOWN_AS_HELP = {
    "bench/mqkit_bench/broker/command.py:broker",
    "bench/mqkit_bench/startup.py:startup",
    "cli/mqkit_cli/topology/command.py:diff_command",
    "cli/mqkit_cli/topology/command.py:export_command",
    "cli/mqkit_cli/topology/command.py:plan_command",
    "interop/__main__.py:differences",
}
"""Commands whose docstring is the text of ``--help``, which users know."""
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


@dataclass(frozen=True, slots=True)
class Outline:
    """The part of a module that these tests ask about: its whole tree is too large to be kept."""

    functions: list[tuple[str, int, int]]
    """Each with its line, and the number of its lines."""
    docstrings: list[tuple[str, str]]
    """Of modules, classes and functions, and the strings under constants and attributes; each with
    the name of what it stands in."""
    docstring: str


@cache
def outline(path: Path) -> Outline:
    tree = ast.parse(path.read_text())
    found = Outline([], [], ast.get_docstring(tree) or "")
    for node in (tree, *statements(tree)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            found.functions.append((node.name, node.lineno, length))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for line in node.body:
                if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant):
                    found.docstrings.append((getattr(node, "name", ""), str(line.value.value)))
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those below a node, however deep: no expression has one in it."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, block, ()):
            yield child
            yield from statements(child)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_too_long() -> None:
    sizes = {relative(p): p.read_text().count("\n") for p in tracked(".py")}
    bounds = {name: TEST_LINES_MAX if "tests" in name else SOURCE_LINES_MAX for name in sizes}
    assert {name: n for name, n in sizes.items() if n > bounds[name]} == {}


def modules_by_folder() -> dict[Path, list[str]]:
    found: dict[Path, list[str]] = {}
    for path in sources():
        if not path.stem.startswith("__"):
            found.setdefault(path.parent, []).append(path.stem)
    return found


def test_a_folder_is_a_room_and_no_corridor() -> None:
    sizes = {relative(folder): len(names) for folder, names in modules_by_folder().items()}
    assert {folder: n for folder, n in sizes.items() if n > FOLDER_MODULES_MAX} == {}


def test_no_prefix_is_a_folder_in_disguise() -> None:
    prefixes = Counter(
        (relative(folder), name.partition("_")[0])
        for folder, names in modules_by_folder().items()
        for name in names
        if "_" in name
    )
    assert {place: n for place, n in prefixes.items() if n > PREFIX_MODULES_MAX} == {}


def test_the_median_file_is_short() -> None:
    sizes = sorted(p.read_text().count("\n") for p in sources() if p.name != "__init__.py")
    low, high = MEDIAN_LINES
    assert low <= sizes[len(sizes) // 2] <= high


def test_no_function_is_too_long() -> None:
    long = {
        f"{relative(path)}:{line} {name}": length
        for path in tracked(".py")
        for name, line, length in outline(path).functions
        if length > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [relative(p) for p in sources() if not outline(p).docstring.strip(".")]
    assert silent == []


def test_a_docstring_names_its_subject() -> None:
    vague = [
        f"{relative(path)}:{name}: {text.splitlines()[0]}"
        for path in tracked(".py")
        for name, text in outline(path).docstrings
        if VAGUE.match(text) and f"{relative(path)}:{name}" not in SHOWN_AS_HELP
    ]
    assert vague == []


def test_a_module_that_a_docstring_refers_to_is_there() -> None:
    """By its whole name, or by its own within the repository."""
    paths = [path.relative_to(ROOT).with_suffix("").parts for path in tracked(".py")]
    known = {part for parts in paths for part in parts} | sys.stdlib_module_names
    gone = [
        f"{relative(path)}: {module}"
        for path in tracked(".py")
        for module in MODULE_ROLE.findall(path.read_text())
        if not known.issuperset(module.split("."))
    ]
    assert gone == []


def test_a_law_that_is_cited_is_in_the_architecture() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    _, _, behind = architecture.partition("\n## The laws of the broker\n")
    laws = set(re.findall(r"^(\d+)\. \*\*", behind.partition("\n## ")[0], re.MULTILINE))
    cited = {
        (relative(path), number)
        for path in tracked(".py", ".md")
        for number in LAW.findall(path.read_text())
    }
    assert len(cited) > 20
    assert sorted((name, number) for name, number in cited if number not in laws) == []


def test_no_document_is_cited_that_is_not_in_the_repository() -> None:
    names = {path.name for path in tracked(".md")}
    found = {
        (relative(path), document)
        for path in tracked(".py", ".md", ".toml", "Makefile", "run")
        for document in DOCUMENT.findall(path.read_text())
        if document.rpartition("/")[2] not in names
    }
    assert sorted(found) == []


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
            "mqkit_bench": "bench", "interop": ".", "fuzz": ".", "mutants": ".",
            "website": "."}  # fmt: skip
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
