"""A griffe extension: docstrings are prose with reST's roles, and become Markdown.

A role that names something of the reference becomes a link to it, any other one its name as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from griffe import Alias, Extension, GriffeLoader, Module, NameResolutionError, Object

_ROLE = re.compile(r":(?P<role>[a-z]+):`(?P<tilde>~?)(?P<name>[^`]+)`")
_TITLED = re.compile(r"(?P<title>[^<]+?)\s*<(?P<name>[^>]+)>")
"""A role that says what is shown, and then what it leads to."""

_CALLED = {"func", "meth"}
_LONE_COLONS = re.compile(r"(?m)(^|[ ]+)::$")
"""The sign that code follows, in reST. Markdown sees that by its indentation."""


def to_markdown(docstring: str, owner: Object) -> str:
    """``docstring`` without roles; names are looked up as ``owner``'s source would."""

    def link(match: re.Match[str]) -> str:
        titled = _TITLED.fullmatch(match["name"])
        name = "".join((titled or match)["name"].split())
        shown = name.rpartition(".")[2] if match["tilde"] else name
        if titled is not None:
            shown = " ".join(titled["title"].split())
        if match["role"] in _CALLED:
            shown += "()"
        # ``optional``: what the reference has no place for is code, and no broken link.
        place = path_of(name, owner)
        return f'<autoref identifier="{place}" optional><code>{shown}</code></autoref>'

    return _ROLE.sub(link, _LONE_COLONS.sub("", docstring).replace("::\n\n", ":\n\n"))


def path_of(name: str, owner: Object) -> str:
    """The whole name of what a docstring of ``owner`` calls ``name``."""
    try:
        return owner.resolve(name)
    except NameResolutionError:
        return name


def objects(owner: Object) -> Iterator[Object]:
    """``owner``, and all that is defined below it."""
    yield owner
    for member in owner.members.values():
        if not isinstance(member, Alias):
            yield from objects(member)


class Roles(Extension):
    """Rewrites the docstrings of a package when all its modules are known."""

    def on_package(self, *, pkg: Module, loader: GriffeLoader, **kwargs: Any) -> None:
        for owner in objects(pkg):
            if owner.docstring is not None:
                owner.docstring.value = to_markdown(owner.docstring.value, owner)
