"""The facts of a run: messages that were published and handled, and how each migration ended."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Bindings = frozenset[tuple[str, str]]
"""Exchange and key of each."""


@dataclass(frozen=True, slots=True)
class End:
    """The broker after a migration that came to its end, beside what it should be.

    ``left`` are queues and exchanges of the migration that are still there. ``code`` is the exit
    code of the last process.
    """

    title: str
    arguments: dict[str, Any]
    wanted: dict[str, Any]
    bindings: Bindings
    bindings_wanted: Bindings
    left: tuple[str, ...] = ()
    code: int = 0


@dataclass(slots=True)
class Facts:
    """Filled by threads; read when they have ended."""

    published: list[str] = field(default_factory=list)
    handled: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    ends: list[End] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    """Ids that the journal names as perhaps twice."""
    kills: Counter[str] = field(default_factory=Counter)
    """By the step that was under way."""
    aborts: int = 0
    internal_errors: int = 0
    """Connections that the broker closed with 541; their consumers connected again."""
    unexpected: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def counted_ids(lines: Iterable[str]) -> Iterator[str]:
    """The ids of windows that a journal tells no end of, and that were moved with confirms: these
    may be there twice. A window in a transaction may not."""
    window: dict[str, Any] = {}
    for line in lines:
        record = json.loads(line)
        if record["record"] == "window":
            yield from _of(window)
            window = record
        elif record["record"] == "committed":
            window = {}
    yield from _of(window)


def _of(window: dict[str, Any]) -> list[str]:
    return window["ids"] if window and window["with_confirms"] else []
