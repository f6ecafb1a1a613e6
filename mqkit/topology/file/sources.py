"""The files of a topology: read up to the limit, expanded, and laid over each other in turn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from mqkit.topology.file.document import MAX_DOCUMENT_BYTES, TOO_LARGE, Node, parse_document
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.line import Line
from mqkit.topology.file.overlay import overlay
from mqkit.topology.file.variables import OPENING, expand

MAX_FILES = 32
"""A base, an environment, a tenant and a few more; each is parsed whole."""

TOGETHER_TOO_LARGE = f"the files together are larger than {MAX_DOCUMENT_BYTES} bytes, the limit"


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file; ``name`` is what messages call it. Of several, ``rank`` is its
    place."""

    name: str
    text: str
    rank: int | None = None

    def at(self, number: int) -> int:
        """The line of that number, which knows this file where there are others."""
        return number if self.rank is None else Line(number, self.rank, self.name)


def names_of(files: Iterable[str | os.PathLike[str]]) -> str:
    """The files as messages about all of them name them."""
    return " + ".join(os.fspath(file) for file in files)


def read_files(files: Sequence[str | os.PathLike[str]]) -> tuple[list[Source], list[Fault]]:
    """The texts of ``files``, and a fault for each that can't be read. Reads no more than a
    topology may have, whatever a file is."""
    if len(files) > MAX_FILES:
        return [], [Fault(0, "", f"{len(files)} files, over the limit of {MAX_FILES}")]
    sources: list[Source] = []
    faults: list[Fault] = []
    seen: dict[tuple[int, int], str] = {}
    left = MAX_DOCUMENT_BYTES
    for rank, file in enumerate(files):
        blank = Source(os.fspath(file), "", rank if len(files) > 1 else None)
        try:
            with Path(file).open("rb") as opened:
                data = _read(opened, blank.name, seen, left)
            sources.append(replace(blank, text=_decoded(data, blank)))
            left -= len(data)
        except OSError as error:
            message = f"can't be read: {error.strerror or error}"
            faults.append(Fault(blank.at(0), "", message))
        except _Refused as refused:
            faults.append(Fault(blank.at(refused.line), "", str(refused)))
    return sources, faults


class _Refused(Exception):
    """A file is not read; the message says why."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def _read(opened: BinaryIO, name: str, seen: dict[tuple[int, int], str], left: int) -> bytes:
    """All octets of a file that is not among ``seen`` yet, at most ``left``."""
    status = os.fstat(opened.fileno())
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        raise _Refused(f"the same file as {seen[identity]} (name each file once)")
    seen[identity] = name
    # The size is looked at first; a pipe has none.
    data = opened.read(left + 1) if status.st_size <= left else b""
    if status.st_size > left or len(data) > left:
        raise _Refused(TOO_LARGE if len(seen) == 1 else TOGETHER_TOO_LARGE)
    return data


def _decoded(data: bytes, source: Source) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Refused("not UTF-8 text", line) from None


def tree_of(
    sources: Sequence[Source], variables: Mapping[str, str]
) -> tuple[Node | None, list[Fault]]:
    """The tree of all files, the later ones laid over the earlier, and the faults of it.

    The tree is ``None`` when a file can't be read as YAML, or when limits are passed.
    """
    root: Node | None = None
    faults: list[Fault] = []
    is_whole = True
    for source in sources:
        parsed, found = parse_document(source.text, source.at)
        if parsed is None:
            is_whole = False
            faults += (_with_advice(fault, source.text) for fault in found)
            continue
        expanded, unexpanded = expand(parsed, variables)
        laid, passed = (expanded, []) if root is None else overlay(root, expanded)
        root, is_whole = laid, is_whole and not passed
        faults += (*found, *unexpanded, *passed)
    return root if is_whole else None, faults


def _with_advice(fault: Fault, text: str) -> Fault:
    """YAML gives braces inside [] and {} a meaning, and does not speak of variables."""
    lines = text.splitlines()
    if not 0 < fault.line <= len(lines) or OPENING not in lines[fault.line - 1]:
        return fault
    advice = f'{fault.message} (inside [] and {{}}, quote a variable: "${{NAME}}")'
    return replace(fault, message=advice)
