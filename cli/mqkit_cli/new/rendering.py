"""The files of a new service, from the templates."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

from mqkit_cli.new.service import Service

SUFFIX = ".template"
"""At the end of each template's name, so that no tool takes one for a file of mqkit's own."""

DOT = "dot-"
"""At the beginning of a template's name, in place of the dot of a hidden file."""


class _Template(Template):
    """Its sign is in no file of the others: ``$`` belongs to topologies and dashboards, ``@`` to
    Python."""

    delimiter = "§"


def rendered(service: Service) -> dict[str, str]:
    """The text of each file, by its path in the service's folder."""
    return {
        path: _Template(text).substitute(service.words)
        for path, text in sorted(_templates(files("mqkit_cli.new") / "templates"))
    }


def _templates(folder: Traversable, above: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, f"{above}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            name = entry.name.removesuffix(SUFFIX)
            if name.startswith(DOT):
                name = f".{name.removeprefix(DOT)}"
            yield f"{above}{name}", entry.read_text(encoding="utf-8")
