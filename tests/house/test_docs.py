"""The pages of docs/: what they show is run, and what they say in numbers and names is in the code.

A fenced block belongs to what stands right above it: a file's name in backticks, or `Run:`. What is
to be run is run in the order of its page, in one folder, against an empty broker of the page's own;
a ``text`` block after a program is what it prints, and a console block has its output in it.
`Run, after a moment:` repeats a command until it prints that. `Run in another terminal:` has a
program run until its page ends; the ``text`` block after it is all that it has printed by then.
"""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, cast

import pytest
import typer.main

from mqkit.consumer import Stats
from mqkit.retry import headers as retry_headers
from mqkit.settings import Settings
from mqkit.topology import loads
from mqkit.topology.file.read import EXCHANGE_KEYS, QUEUE_KEYS, TOPOLOGY_KEYS
from mqkit_cli.app import app
from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.base.limits import Limits
from reference_broker.http import build_app
from reference_broker.http.request.host import Host
from reference_broker.service.command_line import parse as parse_options
from reference_broker.service.config_file import KEYS as BROKER_KEYS
from reference_broker.service.config_file import load_config
from reference_broker.store.format.record import RecordType
from website.menu import menu_of, pages_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TOP_PAGES = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")]
PAGE_LINES_MAX = 200
EXTRAS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
)
OUR_OWN_EXTRAS = {"bench", "dev", "fuzz"}
FENCE = re.compile(r"(?:^([^\n]+)\n\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"`([\w.]+)`")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
MODULE_PATH = re.compile(r"^[\w/]+/\w+\.py$")
TEST_NAME = re.compile(r"^([\w/]+\.py)::(test_\w+)$")
NUMBER = re.compile(r"^(\d[\d,.]*)(?: (KiB|MiB|s|ms))?$")
AFTER_A_MOMENT = "Run, after a moment:"
IN_A_TERMINAL = re.compile(r"Run in (?:another|a third) terminal:")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


class Run(Protocol):
    """The fixture ``run``."""

    def __call__(
        self, command: list[str], shown: str | None = None, *, again: bool = False
    ) -> str: ...


class Start(Protocol):
    """The fixture ``start``."""

    def __call__(self, command: list[str]) -> subprocess.Popen[str]: ...


@dataclass(frozen=True)
class Block:
    """A fenced block, and the paragraph right above it where that is one line."""

    page: Path
    above: str
    language: str
    text: str


def blocks(page: Path, language: str = "") -> list[Block]:
    found = [Block(page, *groups) for groups in FENCE.findall(page.read_text())]
    return [block for block in found if not language or block.language == language]


def is_file_of(block: Block, name: str) -> bool:
    """True if the block's page has a file of that name."""
    return f"\n`{name}`\n" in block.page.read_text()


def all_blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page, language)]


def name_of(page: Path) -> str:
    """From ``docs/``; the pages at the top of the repository have their bare names."""
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix()


def label(value: object) -> str:
    if isinstance(value, Path):
        return name_of(value)
    assert isinstance(value, Block)
    return f"{name_of(value.page)}-{value.text[:30]!r}"


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text())


def rows(page: str) -> Iterator[list[str]]:
    """The cells of every table row of a page, heads and rules included."""
    for line in prose(DOCS / page).splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def first_cells(page: str) -> set[str]:
    """The code spans in the first cells of a page's tables."""
    return {name for cells in rows(page) for name in CODE.findall(cells[0])}


# -- form ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_a_page_is_short_and_in_the_index(page: Path) -> None:
    assert page.read_text().count("\n") < PAGE_LINES_MAX
    assert name_of(page) in pages_of(menu_of(DOCS))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "ARCHITECTURE.md"], ids=label)
def test_every_internal_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        name, _, anchor = target.partition("#")
        if "://" in name:
            continue
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target


@pytest.mark.parametrize("page", [*PAGES, *TOP_PAGES], ids=label)
def test_every_module_that_is_named_by_its_path_is_there(page: Path) -> None:
    """In code spans: from the repository's root, or from the folder of a product's half."""
    roots = [ROOT, ROOT / "reference_broker", ROOT / "reference_broker" / "core", ROOT / "mqkit"]
    named = [code for code in CODE.findall(prose(page)) if MODULE_PATH.match(code)]
    gone = [code for code in named if not any((root / code).is_file() for root in roots)]
    assert gone == []


def test_every_test_that_holds_a_promise_is_there() -> None:
    named = [
        match.groups()
        for cells in rows("publishing.md")
        if (match := TEST_NAME.match(cells[-1].strip("`")))
    ]
    assert len(named) >= 10
    tests = ROOT / "tests" / "mqkit"
    gone = [
        (file, name) for file, name in named if f"def {name}(" not in (tests / file).read_text()
    ]
    assert gone == []


def test_every_test_that_is_named_is_there() -> None:
    named = {
        code
        for page in PAGES
        for code in CODE.findall(prose(page))
        if re.fullmatch(r"test_\w+", code)
    }
    files = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = {name for text in files for name in re.findall(r"def (test_\w+)\(", text)}
    assert len(named) > 5
    assert named - there == set()


def anchors(page: Path) -> set[str]:
    """The headings of a page as a web page names them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=label)
def test_every_yaml_block_is_a_whole_document_that_is_accepted(
    block: Block, tmp_path: Path
) -> None:
    keys = set(re.findall(r"^(\w+):", block.text, re.MULTILINE))
    if keys <= set(TOPOLOGY_KEYS):
        assert loads(block.text).queues
    else:
        assert keys <= set(BROKER_KEYS)
        file = tmp_path / "broker.yaml"
        file.write_text(block.text)
        load_config(file)


@pytest.mark.parametrize("block", all_blocks("python"), ids=label)
def test_every_program_compiles_and_what_it_imports_is_there(block: Block) -> None:
    own = modules_of(block.page)
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name in own or find_spec(alias.name), alias.name
        elif isinstance(node, ast.ImportFrom) and node.module not in own:
            module = import_module(str(node.module))
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                assert hasattr(module, alias.name) or find_spec_or_none(name), name
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "mqkit":
            name = f"mqkit.{node.attr}"
            assert hasattr(import_module("mqkit"), node.attr) or find_spec_or_none(name), name


def modules_of(page: Path) -> set[str]:
    """The modules that the page itself has, each a file that its programs import."""
    names = (FILE_NAME.fullmatch(block.above) for block in blocks(page, "python"))
    return {name[1].removesuffix(".py") for name in names if name}


# -- command lines -------------------------------------------------------------------------------


def commands(block: Block) -> list[tuple[list[str], str]]:
    """The commands of a console block, each with the output that is shown."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    return [(shlex.split(part.partition("\n")[0]), part.partition("\n")[2]) for part in parts]


@cache
def tree() -> dict[tuple[str, ...], Any]:
    """Every command of `mqkit`, by its words."""
    found: dict[tuple[str, ...], Any] = {}

    def collect(command: Any, words: tuple[str, ...]) -> None:
        if hasattr(command, "commands"):
            for name, child in command.commands.items():
                collect(child, (*words, name))
        else:
            found[words] = command

    collect(typer.main.get_command(app), ())
    return found


@pytest.mark.parametrize("block", all_blocks("console"), ids=label)
def test_every_command_line_parses(block: Block) -> None:
    assert commands(block)
    for command, _ in commands(block):
        match command:
            case ["mqkit", *words]:
                parse(words)
            case ["make", target]:
                assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
            case ["python", "-m", "reference_broker", *words]:
                parse_options(words)
            case ["python", "-m", "pip", "install", wanted]:
                assert set(re.findall(r"[\w-]+(?=[],])", wanted)) <= EXTRAS
            case ["python", "-m", module, *_]:
                assert find_spec(f"{module}.__main__")
            case ["python", file]:
                assert is_file_of(block, file)
            case ["export", assignment]:
                assert assignment.partition("=")[0] in {"MQKIT_URL", "MQKIT_MANAGEMENT_URL"}
            case _:
                pytest.fail(f"nobody checks {command}")


def parse(words: list[str]) -> None:
    """Raises the command line's own error for an option that is not there."""
    (name,) = [known for known in tree() if tuple(words[: len(known)]) == known]
    tree()[name].make_context(name[-1], words[len(name) :])


def test_a_wrong_option_would_be_found() -> None:
    with pytest.raises(Exception, match="No such option: --proon"):
        parse(["topology", "plan", "--proon"])


@pytest.mark.parametrize("name", tree(), ids=" ".join)
def test_every_command_and_option_is_on_its_page(name: tuple[str, ...]) -> None:
    page = (DOCS / "cli.md").read_text()
    assert f"`mqkit {' '.join(name)}" in page
    group = page.partition(f"## `mqkit {name[0]}")[2].partition("\n## ")[0]
    for parameter in tree()[name].params:
        if parameter.opts[0].startswith("-"):
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert f"`{option}" in group, option


# -- numbers and names ---------------------------------------------------------------------------


def quoted() -> list[tuple[str, str, str]]:
    """Page, value and place of each number that a table quotes from the code."""
    found = []
    for page in PAGES:
        head: list[str] = []
        for cells in rows(name_of(page)):
            if cells[-1] == "in the code":
                head = cells
            elif head and len(cells) == len(head) and (names := CODE.findall(cells[-1])):
                column = next(
                    head.index(word) for word in ("value", "bound", "default") if word in head
                )
                found.append((name_of(page), cells[column], names[0]))
    return found


def number(text: str) -> float:
    match = NUMBER.match(text)
    assert match is not None, text
    return float(match[1].replace(",", "")) * UNITS.get(match[2], 1)


def in_the_code(place: str) -> object:
    """The constant, or the default of a class's field."""
    module, _, name = place.rpartition(".")
    if find_spec_or_none(module):
        return getattr(import_module(module), name)
    module, _, class_name = module.rpartition(".")
    owner: Any = getattr(import_module(module), class_name)
    if issubclass(owner, Settings):
        return owner.model_fields[name].default
    return next(field.default for field in fields(owner) if field.name == name)


def find_spec_or_none(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize(("page", "value", "place"), quoted())
def test_every_quoted_number_is_the_codes(page: str, value: str, place: str) -> None:
    assert number(value) == in_the_code(place)


def test_numbers_are_quoted_where_they_are_expected() -> None:
    counts = Counter(name for name, _, _ in quoted())
    assert counts["broker.md"] >= 26
    others = ("retry.md", "store.md", "spark_sink.md", "settings.md")
    assert min(counts[name] for name in others) >= 6


def test_every_limit_of_an_operator_is_in_the_table() -> None:
    keys = {cells[2].strip("`") for cells in rows("broker.md") if len(cells) == 4} - {""}
    assert {field.name for field in fields(Limits)} <= keys


def test_every_key_of_the_topology_is_in_its_tables() -> None:
    assert {*TOPOLOGY_KEYS, *EXCHANGE_KEYS, *QUEUE_KEYS} <= first_cells("topology.md")


def test_every_extra_that_users_install_is_in_the_index() -> None:
    told = {name.removeprefix("mqkit[").removesuffix("]") for name in first_cells("README.md")}
    assert told & EXTRAS == EXTRAS - OUR_OWN_EXTRAS


def test_the_queue_types_of_the_reference_broker_are_told() -> None:
    (told,) = [
        cells[3] for cells in rows("topology.md") if cells[0] == "`type`" and "x-queue" in cells[3]
    ]
    _, _, ours = told.partition("; the reference broker has ")
    assert CODE.findall(ours) == [kind.value for kind in QueueType]


def test_every_setting_counter_and_header_is_in_its_table() -> None:
    assert set(Settings.model_fields) <= first_cells("settings.md")
    assert {field.name for field in fields(Stats)} <= first_cells("consuming.md")
    headers = {
        value
        for name, value in vars(retry_headers).items()
        if name.isupper() and isinstance(value, str) and value.startswith(retry_headers.PREFIX)
    }
    assert headers - {retry_headers.PREFIX} == {
        name for name in first_cells("retry.md") if name.startswith(retry_headers.PREFIX)
    }


def test_every_option_and_column_of_spark_is_in_its_table() -> None:
    pytest.importorskip("pyspark")
    options = import_module("mqkit_spark.options").SinkOptions
    columns = import_module("mqkit_spark.columns.schema").COLUMN_TYPES
    second = {cells[1].strip("`") for cells in rows("spark_sink.md") if len(cells) == 5}
    assert {field.name for field in fields(options)} <= second
    shown = {cells[0].strip("`"): cells[1] for cells in rows("spark_sink.md") if len(cells) == 3}
    for name, kinds in columns.items():
        assert set(re.split(r", | or ", shown[name])) == kinds


def test_every_option_and_column_of_a_batch_read_is_in_its_table() -> None:
    pytest.importorskip("pyspark")
    table = import_module("mqkit_spark.options").BATCH_READ_OPTIONS
    name_of = import_module("mqkit_spark.options.table").option_name
    shown = {
        (cells[0].strip("`"), cells[1].strip("`"))
        for cells in rows("spark_read.md")
        if len(cells) == 5
    }
    assert {(name_of(name), name) for name in table.readers} <= shown
    deliveries = import_module("mqkit_spark.columns.deliveries")
    forms = import_module("mqkit_spark.columns.headers").HeadersFormat
    columns = {
        name: re.split(r", (?:or )?", cells[1])
        for cells in rows("spark_read.md")
        if len(cells) == 3
        for name in CODE.findall(cells[0])
    }
    for form in forms:
        for name, kind in deliveries.source_columns(form).items():
            assert kind in columns[name], name


def test_every_management_path_is_in_its_table() -> None:
    host = SimpleNamespace(broker=SimpleNamespace(users=None))
    served = {
        (method, re.sub(r":name}", "}", route.path))
        for route in cast(Any, build_app(cast(Host, host)).routes)
        for method in route.methods - {"HEAD"}
    }
    shown = {
        (cells[0], path)
        for cells in rows("management.md")
        if len(cells) == 2
        for path in CODE.findall(cells[1])
        if path.startswith("/api/")
    }
    assert shown == served


def test_every_record_type_is_in_the_layout() -> None:
    layout = (DOCS / "store.md").read_text()
    shown = {
        (int(number), name)
        for number, name in re.findall(r"^ ?(\d+) ([A-Z]+)\b", layout, re.MULTILINE)
    }
    assert shown == {(kind.value, kind.name) for kind in RecordType}


# -- what is run ---------------------------------------------------------------------------------


def is_run(block: Block) -> bool:
    return block.above in {"Run:", AFTER_A_MOMENT} or bool(IN_A_TERMINAL.fullmatch(block.above))


def test_every_how_to_and_the_tutorial_have_something_that_runs() -> None:
    pages = [*(DOCS / "howto").glob("*.md"), *DOCS.glob("tutorial*.md")]
    idle = [name_of(page) for page in pages if not any(map(is_run, blocks(page)))]
    assert len(pages) > 8
    assert idle == ["howto/README.md"]


RUN_PAGES = [page for page in PAGES if any(map(is_run, blocks(page)))]


@pytest.mark.slow
@pytest.mark.timeout(300)  # a page of ten commands, on a machine with other work to do
@pytest.mark.parametrize("page", RUN_PAGES, ids=label)
def test_what_is_to_be_run_prints_what_is_shown(
    page: Path, tmp_path: Path, run: Run, start: Start
) -> None:
    run_page(page, tmp_path, run, start)


@pytest.mark.slow
@pytest.mark.rabbitmq
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "page",
    [page for page in RUN_PAGES if page.stem.startswith(("from_", "sync", "with_"))],
    ids=label,
)
def test_pages_about_others_programs_are_true_of_rabbitmq_too(
    page: Path, tmp_path: Path, run_on_rabbitmq: Run
) -> None:
    run_page(page, tmp_path, run_on_rabbitmq, lambda _: pytest.fail("it starts a program"))


def run_page(page: Path, tmp_path: Path, run: Run, start: Start) -> None:
    found = blocks(page)
    beside: list[tuple[subprocess.Popen[str], str]] = []
    for block, following in zip(found, [*found[1:], None], strict=True):
        prints = following.text if following is not None and is_output(following) else None
        if name := FILE_NAME.fullmatch(block.above):
            (tmp_path / name[1]).write_text(block.text)
        elif IN_A_TERMINAL.fullmatch(block.above):
            ((command, _),) = commands(block)
            beside.append((start(command), prints or ""))
        elif is_run(block) and block.language == "console":
            for command, shown in commands(block):
                run(command, shown, again=block.above == AFTER_A_MOMENT)
        elif is_run(block):
            assert block.above == "Run:"
            (tmp_path / "program.py").write_text(block.text)
            run([sys.executable, "program.py"], prints)
    for process, shown in beside:
        check_all_that_is_printed(process, shown.splitlines())


def check_all_that_is_printed(process: subprocess.Popen[str], shown: list[str]) -> None:
    """In any order: handlers run side by side. Then it ends well when it is told to."""
    assert process.stdout is not None
    printed = [process.stdout.readline().rstrip() for _ in shown]
    assert sorted(printed) == sorted(shown)
    process.terminate()
    assert process.stdout.read() == ""
    assert process.wait() == 0


def is_output(block: Block) -> bool:
    """A ``text`` block right below another block, whose fence is no line of prose."""
    return block.language == "text" and not block.above
