"""The site's menu: ``docs/README.md`` lists all pages in order, and is its only source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

INDEX = "README.md"
Entry: TypeAlias = "str | dict[str, list[Entry]]"
"""As in mkdocs.yml's ``nav``: a page, or a titled section of entries."""

_HEADING = re.compile(r"^(#{2,3}) (.+)$")
_PAGE_LINK = re.compile(r"\]\(([\w./-]+\.md)\)")


def menu_of(docs: Path) -> list[Entry]:
    """The index itself, and a section for each of its ``##`` and ``###`` headings that has links.

    A link to the index of a folder stands for that index and all that it links to in its folder.
    A page is where it is linked first; links that leave ``docs`` are left out.
    """
    lines = (docs / INDEX).read_text().splitlines()
    return [INDEX, *_entries(lines, 2, docs, {INDEX})]


def pages_of(menu: list[Entry]) -> list[str]:
    """The pages of a menu, without its sections."""
    found: list[str] = []
    for entry in menu:
        if isinstance(entry, str):
            found.append(entry)
        else:
            for inside in entry.values():
                found.extend(pages_of(inside))
    return found


def _entries(lines: list[str], level: int, docs: Path, seen: set[str]) -> list[Entry]:
    """The pages that are linked above the first heading of ``level``, then its sections."""
    found: list[Entry] = []
    for heading, body in _parts(lines, level):
        if heading is None:
            found.extend(_pages(body, docs, seen))
        elif inside := _entries(body, level + 1, docs, seen):
            found.append({heading: inside})
    return found


def _parts(lines: list[str], level: int) -> Iterator[tuple[str | None, list[str]]]:
    """The lines above the first heading of ``level`` (with None), and those below each."""
    heading: str | None = None
    body: list[str] = []
    for line in lines:
        match = _HEADING.match(line)
        if match is not None and len(match[1]) == level:
            yield heading, body
            heading, body = match[2], []
        else:
            body.append(line)
    yield heading, body


def _pages(lines: list[str], docs: Path, seen: set[str]) -> list[Entry]:
    found: list[Entry] = []
    for name in _PAGE_LINK.findall("\n".join(lines)):
        if name in seen or name.startswith("../"):
            continue
        seen.add(name)
        found.append(name)
        if name.endswith(f"/{INDEX}"):
            found.extend(_inside(docs, name, seen))
    return found


def _inside(docs: Path, index: str, seen: set[str]) -> Iterator[Entry]:
    """The pages of a folder, in the order of its index."""
    folder = index.removesuffix(INDEX)
    for name in _PAGE_LINK.findall((docs / index).read_text()):
        page = folder + name
        if not name.startswith("../") and page not in seen:
            seen.add(page)
            yield page
