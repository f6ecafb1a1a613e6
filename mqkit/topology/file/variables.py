"""Variables in a tree: ``${NAME}`` and ``${NAME:-default}``, in values and in keys. Pure.

As in a shell, a variable that is empty counts as one that is not set; ``${NAME:-}`` is for those
who want nothing there. ``$${`` is a ``${`` that is no variable. What was written without quotes is
understood again once its variables are in it, so ``max_length: ${MOST:-100}`` is a number. Nothing
is expanded twice: a value or a default with a ``${`` in it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mqkit.topology.file.document import (
    MAX_DOCUMENT_BYTES,
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    resolve_plain,
)
from mqkit.topology.file.fault import Fault

OPENING = "${"
_OPENINGS = re.compile(r"\$?\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_FORMS = "expected ${NAME} or ${NAME:-default}; $${ is a ${ that is no variable"
_SHOWN = 60
"""Characters of what was found that a fault shows."""


class _Refused(Exception):
    """A text can't be expanded; the message says why."""


def expand(root: Node, variables: Mapping[str, str]) -> tuple[Node, list[Fault]]:
    """``root`` with the values of its variables, and a fault for each that can't be had.

    A text with such a fault stays as it is written: whoever gets faults throws the tree away.
    """
    expansion = _Expansion(variables)
    return expansion.node(root), expansion.faults


def escaped(text: str) -> str:
    """``text`` as a file has to say it, so that no variable is seen in it."""
    return text.replace(OPENING, "$" + OPENING)


@dataclass(slots=True)
class _Expansion:
    """One pass over a tree. Depth is the document's, so the recursion is bounded."""

    variables: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list)
    done: dict[int, Node] = field(default_factory=dict)
    """By identity: what an alias uses often is expanded, counted and blamed once."""
    octets: int = 0

    def node(self, node: Node) -> Node:
        if id(node) not in self.done:
            self.done[id(node)] = self._expanded(node)
        return self.done[id(node)]

    def _expanded(self, node: Node) -> Node:
        match node:
            case ScalarNode():
                text = self._text(node.text, node.line)
                if text == node.text:
                    return node
                value = resolve_plain(text) if node.is_plain else text
                return ScalarNode(node.line, text, value, node.is_plain)
            case SequenceNode():
                return replace(node, items=tuple(map(self.node, node.items)))
            case MappingNode():
                return replace(node, entries=tuple(self._entries(node)))

    def _entries(self, node: MappingNode) -> Iterator[Entry]:
        """Two keys may become one; the first of them stays."""
        lines: dict[str, int] = {}
        for entry in node.entries:
            key = self._text(entry.key, entry.line)
            if key in lines:
                first = f"first in line {lines[key]}"
                message = f"the key {key!r} is here twice with its variables ({first})"
                self.faults.append(Fault(entry.line, "", message))
                continue
            lines[key] = entry.line
            yield Entry(key, entry.line, self.node(entry.value))

    def _text(self, text: str, line: int) -> str:
        if OPENING not in text:
            return text
        try:
            return "".join(self._parts(text))
        except _Refused as refused:
            self.faults.append(Fault(line, "", str(refused)))
            return text

    def _parts(self, text: str) -> Iterator[str]:
        at = 0
        for opening in _OPENINGS.finditer(text):
            if opening.start() < at:
                continue  # in a default, which has been refused or taken already
            yield text[at : opening.start()]
            at = opening.end()
            if opening.group() != OPENING:
                yield OPENING
                continue
            end = text.find("}", at)
            if end < 0:
                raise _Refused(f"{text[opening.start() :][:_SHOWN]!r} has no end ({_FORMS})")
            value = self._value(text[at:end])
            self._count(value)
            yield value
            at = end + 1
        yield text[at:]

    def _value(self, inner: str) -> str:
        """The value of ``${inner}``."""
        name, has_default, default = inner.partition(":-")
        if OPENING in default:
            raise _Refused(
                f"'${{{inner[:_SHOWN]}...' has a variable in its default, which is not read"
            )
        if not _NAME.fullmatch(name):
            raise _Refused(f"'${{{inner[:_SHOWN]}}}' is not a variable ({_FORMS})")
        value = self.variables.get(name, "")
        if not value and not has_default:
            raise _Refused(
                f"${{{name}}} has no value and no default"
                f" (set {name}, or write ${{{name}:-default}})"
            )
        if OPENING in value:
            raise _Refused(f"the value of {name} has a variable in it, which is not read")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise _Refused(f"the value of {name} is not UTF-8 text")
        return value or default

    def _count(self, value: str) -> None:
        self.octets += len(value.encode())
        if self.octets > MAX_DOCUMENT_BYTES:
            raise _Refused(f"variables make it larger than {MAX_DOCUMENT_BYTES} bytes, the limit")
