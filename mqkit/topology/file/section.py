"""One mapping of the file, read key by key; every wrong value becomes a fault with its line.

A reader asks for what it knows; a value that does not fit is recorded and read as "not said", so
that one pass finds every fault of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import EXAMPLES, parse_duration
from mqkit.topology.file.document import Entry, MappingNode, Node, ScalarNode, SequenceNode
from mqkit.topology.file.fault import Fault, meant

ChoiceT = TypeVar("ChoiceT", bound=StrEnum)

MAX_SHORT_STRING_BYTES = 255
"""Names and keys are AMQP short strings (AMQP 0-9-1, 4.2.5.3)."""
INTEGER_BITS = 63
"""Numbers of a field table are signed and of 64 bits at most."""


class Section:
    """A mapping at ``path``. ``known`` keys may be there; any other is a fault."""

    def __init__(self, node: Node, path: str, known: Iterable[str], faults: list[Fault]) -> None:
        self.line = node.line
        self.path = path
        self.faults = faults
        self._entries: dict[str, Entry] = {}
        names = list(known)
        self.is_mapping = isinstance(node, MappingNode)
        if not isinstance(node, MappingNode):
            self.fault(node.line, path, node, f"a mapping with {', '.join(names)}")
            return
        for entry in node.entries:
            if entry.key in names:
                self._entries[entry.key] = entry
            else:
                message = f"unknown key {entry.key!r} ({meant(entry.key, names)})"
                faults.append(Fault(entry.line, path, message))

    def fault(self, line: int, path: str, node: Node, expected: str) -> None:
        """``node`` at ``path`` is not what was ``expected``."""
        self.faults.append(Fault(line, path, f"{show(node)} is not {expected}"))

    def has(self, key: str) -> bool:
        """True if the section has ``key``, with a right value or a wrong one."""
        return key in self._entries

    def lines(self) -> dict[str, int]:
        """The known keys that are there, with their lines."""
        return {key: entry.line for key, entry in self._entries.items()}

    def line_of(self, key: str) -> int:
        """The line of the key, or of the section where the key is missing."""
        return self._entries[key].line if key in self._entries else self.line

    def child(self, key: str) -> str:
        """The path of the key's value."""
        return f"{self.path}.{key}" if self.path else key

    def node(self, key: str) -> Node | None:
        """The value as it stands, for a reader of its own; ``None`` if it is not there."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def text(self, key: str) -> str | None:
        """Text that fits into an AMQP short string."""
        node = self.node(key)
        if node is None:
            return None
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            self.fault(node.line, self.child(key), node, "text (quote it if it is a number)")
            return None
        self.short(node.value, node.line, self.child(key))
        return node.value

    def short(self, text: str, line: int, path: str) -> None:
        """A fault if ``text`` is too long for an AMQP short string."""
        if (length := len(text.encode("utf-8"))) > MAX_SHORT_STRING_BYTES:
            message = f"{length} bytes long, over AMQP's limit of {MAX_SHORT_STRING_BYTES}"
            self.faults.append(Fault(line, path, message))

    def flag(self, key: str, *, default: bool) -> bool:
        """``true`` or ``false``."""
        node = self.node(key)
        if node is None:
            return default
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        self.fault(node.line, self.child(key), node, "true or false")
        return default

    def count(self, key: str, least: int, most: int) -> int | None:
        """A whole number from ``least`` to ``most``."""
        node = self.node(key)
        if node is None:
            return None
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.fault(node.line, self.child(key), node, f"a whole number from {least} to {most}")
        return None

    def number(self, key: str, least: float, most: float) -> float | None:
        """A number from ``least`` to ``most``, whole or not."""
        node = self.node(key)
        if node is None:
            return None
        value = node.value if isinstance(node, ScalarNode) else None
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and least <= float(value or 0) <= most:
            return float(value or 0)
        self.fault(node.line, self.child(key), node, f"a number from {least:g} to {most:g}")
        return None

    def duration(self, key: str, least_ms: int) -> int | None:
        """A duration in milliseconds, not shorter than ``least_ms``."""
        node = self.node(key)
        return None if node is None else self.duration_of(node, self.child(key), least_ms)

    def duration_of(self, node: Node, path: str, least_ms: int) -> int | None:
        """A duration in milliseconds, of a node that is not a key's value."""
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            self.fault(node.line, path, node, f"a duration (expected something like {EXAMPLES})")
            return None
        try:
            duration_ms = parse_duration(node.value)
        except ConfigurationError as error:
            self.faults.append(Fault(node.line, path, str(error)))
            return None
        if duration_ms < least_ms:
            message = f"{node.value!r} is too short (expected at least {least_ms}ms)"
            self.faults.append(Fault(node.line, path, message))
            return None
        return duration_ms

    def choice(self, key: str, kind: type[ChoiceT]) -> ChoiceT | None:
        """One word of an enumeration."""
        node = self.node(key)
        if node is None:
            return None
        words = [str(member) for member in kind]
        if isinstance(node, ScalarNode) and node.value in words:
            return kind(str(node.value))
        found = node.text if isinstance(node, ScalarNode) else ""
        message = f"{show(node)} is not known here ({meant(found, words)})"
        self.faults.append(Fault(node.line, self.child(key), message))
        return None

    def items(self, key: str, expected: str) -> Iterator[tuple[str, Node]]:
        """The items of a list, each with its path."""
        node = self.node(key)
        if node is None:
            return
        if not isinstance(node, SequenceNode):
            self.fault(node.line, self.child(key), node, f"a list of {expected}")
            return
        for index, item in enumerate(node.items):
            yield f"{self.child(key)}[{index}]", item

    def entries(self, key: str, expected: str) -> Iterator[tuple[str, Entry]]:
        """The entries of a mapping whose keys are names, each with its path."""
        node = self.node(key)
        if node is None or (isinstance(node, ScalarNode) and node.value is None):
            return
        if not isinstance(node, MappingNode):
            self.fault(node.line, self.child(key), node, f"a mapping of {expected}")
            return
        for entry in node.entries:
            yield f"{self.child(key)}.{segment(entry.key)}", entry

    def arguments(self, key: str = "arguments") -> Mapping[str, Any]:
        """A field table: names with plain values, lists and tables of them."""
        table: dict[str, Any] = {}
        for path, entry in self.entries(key, "argument names to values"):
            self.short(entry.key, entry.line, path)
            table[entry.key] = self._plain(entry.value, path)
        return table

    def _plain(self, node: Node, path: str) -> Any:
        """Depth is bounded by the document's (:data:`~mqkit.topology.file.document.MAX_DEPTH`)."""
        match node:
            case ScalarNode(value=value):
                is_number = isinstance(value, int) and not isinstance(value, bool)
                if is_number and not -(1 << INTEGER_BITS) <= int(value or 0) < 1 << INTEGER_BITS:
                    self.fault(node.line, path, node, "a number of 64 bits")
                return value
            case SequenceNode(items=items):
                return [self._plain(item, f"{path}[{i}]") for i, item in enumerate(items)]
            case MappingNode(entries=entries):
                for entry in entries:
                    self.short(entry.key, entry.line, f"{path}.{segment(entry.key)}")
                return {
                    entry.key: self._plain(entry.value, f"{path}.{segment(entry.key)}")
                    for entry in entries
                }


def segment(name: str) -> str:
    """A name as part of a path: quoted where it would be read as several parts."""
    return name if name.replace("_", "").replace("-", "").isalnum() else repr(name)


def show(node: Node) -> str:
    """The node's value, in few words."""
    match node:
        case ScalarNode(value=None):
            return "nothing"
        case ScalarNode(value=bool() | int() | float()):
            return node.text[:80]
        case ScalarNode():
            return repr(node.text[:80])
        case SequenceNode():
            return "a list"
        case MappingNode():
            return "a mapping"
