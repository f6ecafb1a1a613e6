"""YAML text as a tree of nodes that know their lines. Nothing is executed, nothing is guessed.

Of YAML 1.2 this reads one document of mappings, sequences and scalars; plain scalars follow the
core schema (so ``no`` and ``2024-01-01`` are text), and integers may hold ``_`` between digits.
Tags and merge keys are refused. Size, depth and number of nodes are bounded, with an alias
counted as often as it is used, so that a "billion laughs" file is refused before it is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from mqkit.topology.file.fault import Fault

if TYPE_CHECKING:
    from ruamel.yaml.error import MarkedYAMLError

MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
"""Some ten thousand queues; the parser takes seconds for more."""
MAX_DEPTH = 24
"""Field tables may nest in ``arguments``; nobody nests them so deep by hand."""
MAX_NODES = 200_000
"""Values and keys, aliases expanded: what the bytes allow, and no more than fits in memory."""
MAX_ITEMS = 20_000
"""In one mapping or list: whoever has more queues is told so in a second, not after five."""

TOO_LARGE = f"the file is larger than {MAX_DOCUMENT_BYTES} bytes, which is the limit"
TOO_MANY_NODES = f"more than {MAX_NODES} values, aliases expanded"
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels, the limit"

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value; ``text`` is as written, ``value`` as understood. ``is_plain``: it was written
    without quotes, and so may be a number or a flag."""

    line: int
    text: str
    value: Scalar
    is_plain: bool = field(default=False, compare=False)
    size: ClassVar[int] = 1
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list. ``depth`` is the levels in it, its own included."""

    line: int
    items: tuple[Node, ...]
    size: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping, the line of the key, and its value."""

    key: str
    line: int
    value: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping, in the order of the file, each key once."""

    line: int
    entries: tuple[Entry, ...]
    size: int
    depth: int = 1


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


class _Refused(Exception):
    """Ends the reading; what it says becomes a fault."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(line, "", message)


def parse_document(text: str, at: Callable[[int], int] = int) -> tuple[Node | None, list[Fault]]:
    """The tree of ``text``, and the faults of its form. Never raises.

    The tree is ``None`` when the text can't be read as YAML at all. Duplicate keys are faults, but
    the tree has the first of them, so that the rest can be checked too. ``at`` makes the lines of
    nodes and faults out of their numbers, where there are several files.
    """
    root, faults = _parse(text, at)
    return root, [Fault(at(fault.line), fault.path, fault.message) for fault in faults]


def _parse(text: str, at: Callable[[int], int]) -> tuple[Node | None, list[Fault]]:
    # Not every application has a file to read.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(text.encode("utf-8", "surrogatepass")) > MAX_DOCUMENT_BYTES:
        return None, [Fault(1, "", TOO_LARGE)]
    builder = _Builder(at)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.take(event)
    except _Refused as refused:
        return None, [*builder.faults, refused.fault]
    except MarkedYAMLError as error:
        return None, [*builder.faults, Fault(_line_of(error), "", _say(error))]
    except (YAMLError, ValueError, OverflowError) as error:
        # The reader's errors have no mark, and a numeric escape out of range is a plain ValueError.
        message = f"not YAML: {' '.join(str(error).split())[:200]}"
        return None, [*builder.faults, Fault(_line_at(text, error), "", message)]
    if builder.root is None:
        return None, [Fault(1, "", "the file is empty (expected exchanges: and queues:)")]
    return builder.root, builder.faults


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    line: int
    anchor: str | None
    is_mapping: bool
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class _Builder:
    """Makes the tree from the parser's events; a stack of its own, so that depth is no
    recursion."""

    at: Callable[[int], int]
    root: Node | None = None
    faults: list[Fault] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    nodes: int = 0

    def take(self, event: Any) -> None:
        line = self.at(event.start_mark.line + 1)
        match type(event).__name__:
            case "ScalarEvent":
                self._no_tag(event, line)
                self._add(_scalar(event, line), event.anchor)
            case "AliasEvent":
                self._add(self._anchored(event.anchor, line), None)
            case "SequenceStartEvent" | "MappingStartEvent":
                self._no_tag(event, line)
                if len(self.stack) >= MAX_DEPTH:
                    raise _Refused(line, TOO_DEEP)
                is_mapping = type(event).__name__ == "MappingStartEvent"
                self.stack.append(_Open(line, event.anchor, is_mapping))
            case "SequenceEndEvent":
                done = self.stack.pop()
                items = tuple(done.items)
                self._close(SequenceNode(done.line, items, *_extent(items)), done.anchor)
            case "MappingEndEvent":
                done = self.stack.pop()
                entries = tuple(self._entries(done.items))
                self._close(MappingNode(done.line, entries, *_extent(done.items)), done.anchor)
            case "DocumentStartEvent" if self.root is not None:
                raise _Refused(line, "a second document (expected one in the file)")
            case _:
                pass

    def _add(self, node: Node, anchor: str | None) -> None:
        """A whole node: count it, and put it where it belongs."""
        self._count(node.size, node.line)
        self._place(node, anchor)

    def _close(self, node: Node, anchor: str | None) -> None:
        """A collection whose parts have been counted already."""
        self._count(1, node.line)
        self._place(node, anchor)

    def _count(self, nodes: int, line: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise _Refused(line, TOO_MANY_NODES)

    def _place(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            parent = self.stack[-1]
            parent.items.append(node)
            if len(parent.items) > (2 if parent.is_mapping else 1) * MAX_ITEMS:
                raise _Refused(node.line, too_many(MAX_ITEMS))
        else:
            self.root = node

    def _anchored(self, anchor: str, line: int) -> Node:
        if anchor not in self.anchors:
            raise _Refused(line, f"the alias *{anchor} has no anchor &{anchor} before it")
        node = self.anchors[anchor]
        if len(self.stack) + node.depth > MAX_DEPTH:
            raise _Refused(line, TOO_DEEP)
        return node

    def _no_tag(self, event: Any, line: int) -> None:
        if event.tag is not None:
            raise _Refused(
                line, f"the tag {event.tag!r} (expected a plain value: tags are not read)"
            )

    def _entries(self, items: list[Node]) -> Iterator[Entry]:
        """Keys and values come by turns; a key that is not text is a fault and left out."""
        lines: dict[str, int] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, ScalarNode):
                self.faults.append(
                    Fault(key.line, "", "a key that is a collection (expected text)")
                )
            elif key.text in lines:
                message = f"the key {key.text!r} is here twice (first in line {lines[key.text]})"
                self.faults.append(Fault(key.line, "", message))
            else:
                lines[key.text] = key.line
                yield Entry(key.text, key.line, value)


def too_many(most: int) -> str:
    """The words for a collection of more than ``most`` items."""
    return f"more than {most} in one mapping or list, the limit"


def _extent(items: Sequence[Node]) -> tuple[int, int]:
    """The size and the depth of a collection of ``items``, keys among them."""
    return 1 + sum(item.size for item in items), 1 + max((item.depth for item in items), default=0)


_INTEGER = re.compile(r"[-+]?[0-9]+(_[0-9]+)*", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
MAX_NUMBER_LENGTH = 40
"""Longer runs of digits stay text: no field of AMQP holds such a number."""


def resolve_plain(text: str) -> Scalar:
    """The value of an unquoted scalar (YAML 1.2 core schema, decimal numbers only)."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= MAX_NUMBER_LENGTH:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def _scalar(event: Any, line: int) -> ScalarNode:
    text: str = event.value
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _Refused(line, "half of a surrogate pair (expected whole Unicode characters)")
    is_plain: bool = event.implicit[0]
    return ScalarNode(line, text, resolve_plain(text) if is_plain else text, is_plain)


def _line_of(error: MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark is not None else 1


def _line_at(text: str, error: Exception) -> int:
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 1


def _say(error: MarkedYAMLError) -> str:
    what = " ".join(str(part) for part in (error.context, error.problem) if part)
    return f"not YAML: {what[:200]}"
