"""The site of docs/, built once, strictly, and read as a browser would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import mqkit
from website.menu import menu_of, pages_of

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 110
LOADED = {
    *(("audio", "src"), ("embed", "src"), ("iframe", "src"), ("img", "src"), ("img", "srcset")),
    *(("link", "href"), ("object", "data"), ("script", "src"), ("source", "src")),
    *(("source", "srcset"), ("use", "href"), ("use", "xlink:href"), ("video", "poster")),
    *(("form", "action"), ("video", "src")),
}
"""The attributes whose address a browser fetches without being asked."""
FOREIGN = re.compile(r"(?:[a-z]+:)?//")
LOADED_BY_CSS = re.compile(r"(?:url\(|@import )[\"']?((?:[a-z]+:)?//[^\"')]+)")
ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):")
BULLET = re.compile(r"^[*-] ", re.MULTILINE)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(DEADLINE_S + 10)]


@dataclass(repr=False)
class Page(HTMLParser):
    """A built page: its links, its anchors, its text, and what it loads."""

    loaded: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    paragraphs: list[str] = field(default_factory=list)
    prose: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.loaded.extend(values[name] for name in values if (tag, name) in LOADED)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        if tag in {"p", "pre", "script"}:
            self._open.append(tag)
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["p"]:
            self.paragraphs[-1] += data
        if self._open[-1:] not in (["pre"], ["script"]):
            self.prose += data


def read(html: str) -> Page:
    page = Page()
    page.feed(html)
    return page


@cache
def page_at(path: Path) -> Page:
    return read(path.read_text())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): page_at(path) for path in site.rglob("*.html")}


def test_every_page_is_in_the_menu_and_in_the_site(pages: dict[str, Page]) -> None:
    docs = ROOT / "docs"
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    assert set(pages_of(menu_of(docs))) == written
    built = {f"{name.removesuffix('.md')}.html".replace("README.", "index.") for name in written}
    assert built <= set(pages)
    assert {"repository/index.html", "repository/examples/orders/service.py.html"} <= set(pages)


def test_a_browser_loads_nothing_from_another_host(site: Path, pages: dict[str, Page]) -> None:
    foreign = {
        (name, address)
        for name, page in pages.items()
        for address in page.loaded
        if FOREIGN.match(address)
    }
    sheets = list(site.rglob("*.css"))
    for sheet in sheets:
        foreign |= {(sheet.name, address) for address in LOADED_BY_CSS.findall(sheet.read_text())}
    assert len(sheets) > 1
    assert foreign == set()


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<script src="//cdn.example/x.js"></script>',
        '<img src="http://example.org/badge.svg">',
    ],
)
def test_what_a_browser_would_load_is_found(html: str) -> None:
    assert [address for address in read(html).loaded if FOREIGN.match(address)]


def test_every_link_leads_to_a_page_and_an_anchor_of_it(site: Path, pages: dict[str, Page]) -> None:
    broken = [
        (name, link)
        for name, page in pages.items()
        if name != "404.html"  # its links are absolute: nobody knows where it is shown
        for link in page.links
        if not leads_somewhere(site / name, link)
    ]
    assert broken == []


def leads_somewhere(page: Path, link: str) -> bool:
    """True for other hosts, too: a reader may click there."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    place = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    place = place / "index.html" if place.is_dir() else place
    if not place.is_file():
        return False
    return not parts.fragment or unquote(parts.fragment) in page_at(place).ids


def test_every_public_name_is_on_a_page_of_the_reference(pages: dict[str, Page]) -> None:
    shown: set[str] = set()
    for name, page in pages.items():
        if name.startswith("reference/"):
            shown |= page.ids
    rooms = [
        *(
            "mqkit.health",
            "mqkit.inbox",
            "mqkit.lots",
            "mqkit.metrics",
            "mqkit.otel",
            "mqkit.outbox",
        ),
        *("mqkit.sync", "mqkit.topology", "mqkit.transport"),
    ]
    wanted = {f"mqkit.{name}" for name in mqkit.__all__}
    for room in [*rooms, "mqkit_spark"]:
        wanted |= {f"{room}.{name}" for name in import_module(room).__all__}
    assert len(wanted) > 100
    assert wanted - shown == set()


def test_no_role_of_rest_is_left_in_prose(pages: dict[str, Page]) -> None:
    assert [name for name, page in pages.items() if ROLE.search(page.prose)] == []


def test_every_list_is_one(pages: dict[str, Page]) -> None:
    """A list right below a line of prose is a list for GitHub, and prose for mkdocs."""
    prose = [
        (name, text)
        for name, page in pages.items()
        for text in page.paragraphs
        if BULLET.search(text)
    ]
    assert prose == []
