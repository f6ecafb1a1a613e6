"""Python values as the tree of a topology that comes from no file: text is what it is, and has no
variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mqkit.topology.file.document import (
    MAX_DEPTH,
    MAX_NODES,
    TOO_DEEP,
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
)
from mqkit.topology.file.fault import Fault, topology_error
from mqkit.topology.file.read import read_tree
from mqkit.topology.file.section import INTEGER_BITS, segment
from mqkit.topology.model import Topology

NAME = "Topology.of"
"""The name of the topology in messages, in place of a file's."""
NO_LINE = 0


def topology_of(sections: Mapping[str, Any]) -> Topology:
    """The topology of ``sections``, which have the keys of a file; ``None`` is one that is left
    out. Raises :exc:`~mqkit.errors.TopologyError` with every fault and its path."""
    said = {key: value for key, value in sections.items() if value is not None}
    try:
        root = _Tree().node(said, "", 0)
    except _Refused as refused:
        raise topology_error(NAME, [refused.fault]) from None
    topology, faults = read_tree(root, NAME)
    if faults:
        raise topology_error(NAME, faults)
    return topology


class _Refused(Exception):
    """Ends the making of the tree; what it says becomes a fault."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(NO_LINE, path, message)


class _Tree:
    """One tree under way; its limits are a file's, so that a list which contains itself ends."""

    def __init__(self) -> None:
        self._nodes = 0

    def node(self, value: Any, path: str, depth: int) -> Node:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _Refused(path, f"more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise _Refused(path, TOO_DEEP)
        match value:
            case int() if value.bit_length() > INTEGER_BITS + 1:
                raise _Refused(path, "a number of more than 64 bits")
            case None | bool() | int() | float():
                return ScalarNode(NO_LINE, "" if value is None else str(value), value)
            case str():
                text = _whole(value, path)
                return ScalarNode(NO_LINE, text, text)
            case Mapping():
                entries = tuple(self._entries(value, path, depth + 1))
                return MappingNode(NO_LINE, entries, 1)
            case list() | tuple():
                items = tuple(
                    self.node(item, f"{path}[{index}]", depth + 1)
                    for index, item in enumerate(value)
                )
                return SequenceNode(NO_LINE, items, 1)
            case _:
                expected = "text, a number, a flag, a list or a mapping"
                raise _Refused(path, f"a {type(value).__name__!r} (expected {expected})")

    def _entries(self, value: Mapping[Any, Any], path: str, depth: int) -> Iterator[Entry]:
        for key, part in value.items():
            if not isinstance(key, str):
                raise _Refused(path, f"the key {key!r} is not text")
            name = _whole(key, path)
            inner = f"{path}.{segment(name)}" if path else name
            yield Entry(name, NO_LINE, self.node(part, inner, depth))


def _whole(text: str, path: str) -> str:
    """A plain ``str``, of an enumeration's member too."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _Refused(path, "half of a surrogate pair (expected whole Unicode characters)")
    return str(text)
