"""Mistakes that the page's files may not have, read as text. The browser's tests say that the page
works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "reference_broker" / "page"
SCRIPTS = sorted(PAGE.glob("*.js"))
LINES_MAX = 200
COLUMNS_MAX = 100

MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment"
    r"|DOMParser|setHTML|srcdoc|\beval\b|new Function|javascript:"
)
"""Ways to make markup or code of a text."""
ELSEWHERE = re.compile(r"(?:https?:)?//[\w-]+\.[\w.-]+")
SVG_NAMESPACE = "http://www.w3.org/2000/svg"


def lines(path: Path) -> Iterator[tuple[int, str]]:
    return enumerate(path.read_text().splitlines(), 1)


def found(pattern: re.Pattern[str], *paths: Path) -> list[str]:
    return [
        f"{path.name}:{number}: {match.group(0)}"
        for path in paths
        for number, line in lines(path)
        if (match := pattern.search(line.replace(SVG_NAMESPACE, "")))
    ]


def test_no_text_becomes_markup_or_code() -> None:
    assert len(SCRIPTS) > 10
    assert found(MARKUP, *SCRIPTS) == []


def test_the_search_finds_what_it_is_for() -> None:
    for bad in ("a.innerHTML = b", "eval(x)", "node.insertAdjacentHTML('x', y)"):
        assert MARKUP.search(bad)
    assert ELSEWHERE.search('import "https://cdn.example.com/x.js"')
    assert ELSEWHERE.search("url(//fonts.example.com/a)")


def test_nothing_comes_from_elsewhere() -> None:
    assert found(ELSEWHERE, *(p for p in PAGE.iterdir() if p.is_file())) == []


def test_the_index_has_no_script_or_style_in_it() -> None:
    index = (PAGE / "index.html").read_text()
    assert re.findall(r"<script[^>]*>", index) == ['<script type="module" src="/page/main.js">']
    assert not re.search(r"<style|\sstyle=|\son\w+=", index)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.name))
def test_modules_are_short_and_say_what_they_are_for(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("/**")
    assert text.count("\n") <= LINES_MAX
    assert [number for number, line in lines(path) if len(line) > COLUMNS_MAX] == []


def test_every_module_is_used() -> None:
    index = (PAGE / "index.html").read_text()
    everything = index + "".join(path.read_text() for path in SCRIPTS)
    assert [p.name for p in SCRIPTS if not re.search(rf"[./]/?{p.name}\"", everything)] == []
