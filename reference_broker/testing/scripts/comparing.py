"""The comparison of two plays of a script: the first thing in which they differ."""

from __future__ import annotations

from typing import Any

from reference_broker.testing.scripts.playing import Play

_SHOWN = 400
"""Characters of a value that are shown."""


def difference(one: Play, other: Play) -> str:
    """The first difference between two plays of the same script, in words; empty where there is
    none. Ends all clients and takes the messages, so ask once, when the whole script was played.

    Compares what clients were told, counts, definitions, and all messages in order: the ready ones,
    and the unacked ones as they come back.
    """
    found = _differing("told", one.told, other.told)
    found = found or _differing("confirms", one.confirms(), other.confirms())
    found = found or _differing("state", one.state(), other.state())
    for play in (one, other):
        play.end()
    found = found or _differing("definitions", _defined(one), _defined(other))
    return found or _differing("contents", one.contents(), other.contents())


def _defined(play: Play) -> Any:
    return play.state()["definitions"]


def _differing(where: str, one: Any, other: Any) -> str:
    if one == other:
        return ""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            if found := _differing(f"{where}[{key!r}]", one.get(key), other.get(key)):
                return found
    if isinstance(one, list) and isinstance(other, list):
        for place, (left, right) in enumerate(zip(one, other, strict=False)):
            if found := _differing(f"{where}[{place}]", left, right):
                return found
        where = f"length of {where}"
        one, other = len(one), len(other)
    return f"{where}: {str(one)[:_SHOWN]} against {str(other)[:_SHOWN]}"
