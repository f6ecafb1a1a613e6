"""Files of the repository as pages: what is not below ``docs/``, and is linked from there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from website.links import DOCS, targets

LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json", ".sql": "sql"}
"""The names by which the fences of a page know the languages of our files."""
SIZE_MAX = 200_000
"""A file that is longer has no page: nobody reads it in a browser. An example's data is."""


def linked_pages(root: Path, pages: Iterable[str]) -> dict[str, str]:
    """The Markdown of each file and folder outside ``docs/`` that ``pages``, or one of these
    pages themselves, link to, by its path from ``root``. Raises :exc:`OSError` for a link that
    leads nowhere."""
    found: dict[str, str] = {}
    waiting = [(page, (root / page).read_text()) for page in pages]
    while waiting:
        page, markdown = waiting.pop()
        for target in targets(markdown, page):
            if target in found or target.startswith(f"{DOCS}/"):
                continue
            found[target] = shown = page_of(root, target)
            # The links of a folder's page are named from its parent, as a file's own would be.
            waiting.append((target, shown))
    return found


def page_of(root: Path, path: str) -> str:
    """A Markdown file as it is, another one as code, a folder as links to what is in it."""
    place = root / path
    if place.is_dir():
        name = place.name
        rows = [f"* [{child.name}]({name}/{child.name})" for child in sorted(shown_files(place))]
        return "\n".join([f"# `{path}`", "", *rows, ""])
    text = place.read_text()
    if place.suffix == ".md":
        return text
    fence = "````" if "```" in text else "```"
    return f"# `{path}`\n\n{fence}{LANGUAGES.get(place.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def shown_files(folder: Path) -> Iterable[Path]:
    """The children of a folder, but for what tools left there and what is too large to be read."""
    for child in folder.iterdir():
        if child.name.startswith((".", "__pycache__")):
            continue
        if child.is_dir() or child.stat().st_size <= SIZE_MAX:
            yield child
