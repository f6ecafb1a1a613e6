"""Links between the repository's files, and what they are between the pages of the site.

Pages are read in two places: as files of the repository, and in the site. They are written for the
first; here is the second. The place of a page in the site is a name below ``docs/`` as mkdocs sees
it (``publishing.md``); a file of the repository that is not below ``docs/`` has a page below
:data:`OUTSIDE`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

DOCS = "docs"
OUTSIDE = "repository"
"""The folder of the site with files from outside ``docs/``."""

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()[^)\s]+(?=\))")


def site_place(path: str) -> str:
    """The page that shows ``path``, which is named from the repository's root."""
    if path.startswith(f"{DOCS}/"):
        return path.removeprefix(f"{DOCS}/")
    return f"{OUTSIDE}/{path}" if path.endswith(".md") else f"{OUTSIDE}/{path}.md"


def targets(markdown: str, page: str) -> Iterator[str]:
    """The files and folders that ``page`` links to, each named from the repository's root."""
    for part in _FENCE.split(markdown)[::2]:
        for link in _LINK.findall(part):
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

    return "".join(_outside_fences(markdown, lambda part: _LINK.sub(renamed, part)))


def _outside_fences(markdown: str, change: Callable[[str], str]) -> Iterator[str]:
    for index, part in enumerate(_FENCE.split(markdown)):
        yield part if index % 2 else change(part)


def _target(link: str, page: str) -> str | None:
    """None for a link to another host, and to an anchor of the page itself."""
    name = link.partition("#")[0]
    if not name or ":" in name:
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
