"""The reader of ``lots:``, and of ``alert:`` wherever it stands."""

from __future__ import annotations

import re

from mqkit.retry.headers import MAX_REPLAYS
from mqkit.topology.file.document import Entry
from mqkit.topology.file.fault import Fault, meant
from mqkit.topology.file.section import Section
from mqkit.topology.lot_model import (
    PLACEHOLDERS,
    AlertModel,
    ArchiveModel,
    LotModel,
    ReplayModel,
)

LOT_KEYS = ("replay", "archive", "alert")
LEAST_MS = 1_000
"""A broker writes the time of a death in whole seconds."""
MAX_DEPTH = 2**63 - 1
ARCHIVE_SUFFIX = ".jsonl.gz"

_BRACES = re.compile(r"\{([^{}]*)\}|[{}]")


def read_lot(entry: Entry, path: str, faults: list[Fault]) -> LotModel:
    """The lot of one entry of ``lots:``."""
    section = Section(entry.value, path, LOT_KEYS, faults)
    section.short(entry.key, entry.line, path)
    if section.is_mapping and not section.lines():
        message = f"nothing is said about the lot (expected {', '.join(LOT_KEYS)})"
        faults.append(Fault(entry.line, path, message))
    return LotModel(
        name=entry.key,
        replay=_replay(section),
        archive=_archive(section),
        alert=read_alert(section),
        line=entry.line,
        key_lines=section.lines(),
    )


def read_alert(section: Section, *limits: str) -> AlertModel | None:
    """``alert:`` of a section; ``limits`` are the keys that it may have, all without them."""
    known = limits or ("depth", "age")
    part = _part(section, "alert", known)
    if part is None:
        return None
    if part.is_mapping and not part.lines():
        message = f"an alert without a limit (expected {' or '.join(known)})"
        part.faults.append(Fault(part.line, part.path, message))
    return AlertModel(
        depth=part.count("depth", 1, MAX_DEPTH), age_ms=part.duration("age", LEAST_MS)
    )


def _replay(section: Section) -> ReplayModel | None:
    part = _part(section, "replay", ("every", "at_most"))
    if part is None:
        return None
    _required(part, "every", "how long a message lies before it goes back, like 'every: 1h'")
    _required(part, "at_most", f"how often a message goes back, 1 to {MAX_REPLAYS}")
    every_ms = part.duration("every", LEAST_MS)
    at_most = part.count("at_most", 1, MAX_REPLAYS)
    return None if every_ms is None or at_most is None else ReplayModel(every_ms, at_most)


def _archive(section: Section) -> ArchiveModel | None:
    part = _part(section, "archive", ("after", "to"))
    if part is None:
        return None
    _required(part, "after", "how long a message lies before it is archived, like 'after: 24h'")
    _required(part, "to", f"a path like lots/{{queue}}/{{date}}{ARCHIVE_SUFFIX}")
    after_ms = part.duration("after", LEAST_MS)
    to = part.text("to")
    if to is not None and (message := _fault_of_path(to)):
        part.faults.append(Fault(part.line_of("to"), part.child("to"), message))
    return None if after_ms is None or to is None else ArchiveModel(after_ms, to)


def _fault_of_path(to: str) -> str:
    for match in _BRACES.finditer(to):
        if match[1] is None:
            return f"a brace alone in {to!r} (expected {_expected()})"
        if match[1] not in PLACEHOLDERS:
            return f"unknown placeholder {match[0]} ({meant(match[1], PLACEHOLDERS)})"
    if "\0" in to:
        return "a path with a NUL character"
    if not to.endswith(ARCHIVE_SUFFIX):
        return f"{to!r} does not end in {ARCHIVE_SUFFIX}, which is what an archive is"
    return ""


def _expected() -> str:
    return " or ".join(f"{{{name}}}" for name in PLACEHOLDERS)


def _part(section: Section, key: str, known: tuple[str, ...]) -> Section | None:
    node = section.node(key)
    return None if node is None else Section(node, section.child(key), known, section.faults)


def _required(part: Section, key: str, expected: str) -> None:
    if part.is_mapping and not part.has(key):
        part.faults.append(Fault(part.line, part.path, f"{key!r} is missing (expected {expected})"))
