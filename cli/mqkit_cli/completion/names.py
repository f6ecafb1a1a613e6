"""The question for names that begin with some text, and the names in its answer. No I/O.

Shells put a completion into the line as it is, and zsh evaluates it before. Whoever may declare a
queue chooses its name, so names that are more than a plain word to a shell are not offered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from mqkit.retry.names import PARKED

NAMES_MAX = 100
"""Names that are asked for: more than anybody reads, of a broker that may have 100,000."""

ANSWER_BYTES_MAX = 128 * 1024
"""Octets of an answer: that many of the longest names, with the JSON around each."""

_PLAIN = re.compile(r"[\w./+][\w./+-]*")
"""No character of a shell, none at which bash breaks words (``:``, ``=``, ``@``), no option."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of objects: the API's list of them, and the end of their names."""

    listed_as: str
    suffix: str = ""
    is_in_vhost: bool = True


QUEUES = Kind("queues")
PARKING_LOTS = Kind("queues", PARKED)
EXCHANGES = Kind("exchanges")
VHOSTS = Kind("vhosts", is_in_vhost=False)


def question(kind: Kind, vhost: str, begun: str) -> str | None:
    """The path that lists names which begin with ``begun``; ``None`` if none of them could be
    offered."""
    if begun and not _PLAIN.fullmatch(begun):
        return None
    place = f"/{quote(vhost, safe='')}" if kind.is_in_vhost else ""
    query = {
        "page": 1,
        "page_size": NAMES_MAX,
        "name": _pattern(begun, kind.suffix),
        "use_regex": "true",
        "columns": "name",
    }
    return f"/api/{kind.listed_as}{place}?{urlencode(query)}"


def _pattern(begun: str, suffix: str) -> str:
    """A pattern of names that begin and end so, of which the two texts may share a part."""
    head = f"^{re.escape(begun)}"
    if not suffix:
        return head
    shared = [n for n in range(1, len(suffix) + 1) if begun.endswith(suffix[:n])]
    ends = [f".*{re.escape(suffix)}", *(re.escape(suffix[n:]) for n in shared)]
    return f"{head}({'|'.join(ends)})$"


def names_in(answer: bytes, kind: Kind, begun: str) -> list[str]:
    """The names that an answer has and a shell may be given, in order. Raises :exc:`ValueError`,
    :exc:`TypeError` or :exc:`KeyError` for an answer of another form."""
    found = json.loads(answer)
    rows = found["items"] if isinstance(found, dict) else found  # not every broker has pages
    return sorted({name for name in _texts(rows) if _fits(name, kind, begun)})[:NAMES_MAX]


def _texts(rows: Iterable[dict[str, object]]) -> Iterable[str]:
    return (name for row in rows if isinstance(name := row["name"], str))


def _fits(name: str, kind: Kind, begun: str) -> bool:
    return (
        name.startswith(begun)
        and name.endswith(kind.suffix)
        and name != kind.suffix
        and _PLAIN.fullmatch(name) is not None
    )
