"""``NAME=VALUE`` options."""

from __future__ import annotations

from collections.abc import Iterable

from mqkit_cli.errors import CommandError


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """The options as a mapping; a value may hold ``=`` itself, and may be empty.

    Raises :exc:`CommandError` naming ``option`` for one without ``=``, or a name said twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise CommandError(f"{option} {text!r} is not NAME=VALUE")
        if name in found:
            raise CommandError(f"{option} {name!r} is given twice")
        found[name] = value
    return found
