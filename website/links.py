"""Links between the repository's files, and what they are between the pages of the site.

Pages are read in two places: as files of the repository, and in the site. They are written for the
first; here is the second. The place of a page in the site is a name below ``docs/`` as mkdocs sees
it (``publishing.md``); a file of the repository that is not below ``docs/`` has a page below
:data:`OUTSIDE`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

DOCS = "docs"
OUTSIDE = "repository"
"""The folder of the site with files from outside ``docs/``."""

_FENCE = re.compile(r"^(?P<ticks>`{3,}).*?^(?P=ticks)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()[^)\s]+(?=\))")


def site_place(path: str) -> str:
    """The page that shows ``path``, which is named from the repository's root."""
    if path.startswith(f"{DOCS}/"):
        return path.removeprefix(f"{DOCS}/")
    return f"{OUTSIDE}/{path}" if path.endswith(".md") else f"{OUTSIDE}/{path}.md"


def targets(markdown: str, page: str) -> Iterator[str]:
    """The files and folders that ``page`` links to, each named from the repository's root."""
    for is_code, part in _parts(markdown):
        for link in () if is_code else _LINK.findall(part):
            if (target := _target(link, page)) is not None:
                yield target


def for_the_site(markdown: str, page: str) -> str:
    """The text of ``page``, with each link to a file made one to the page that shows it."""
    here = posixpath.dirname(site_place(page))

    def renamed(match: re.Match[str]) -> str:
        target = _target(match[0], page)
        if target is None:
            return match[0]
        _, hash_, anchor = match[0].partition("#")
        return posixpath.relpath(site_place(target), here or ".") + hash_ + anchor

    return "".join(
        part if is_code else _LINK.sub(renamed, part) for is_code, part in _parts(markdown)
    )


def _parts(markdown: str) -> Iterator[tuple[bool, str]]:
    """The text in order, cut at its fenced blocks; true for these."""
    end = 0
    for fence in _FENCE.finditer(markdown):
        yield False, markdown[end : fence.start()]
        yield True, fence[0]
        end = fence.end()
    yield False, markdown[end:]


def _target(link: str, page: str) -> str | None:
    """None for a link to another host, and to an anchor of the page itself."""
    name = link.partition("#")[0]
    if not name or ":" in name:
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
