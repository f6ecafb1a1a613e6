"""The normal form of a broker's answers, in which two brokers can be compared. Evened out are:

* Names that the broker chose (queues, consumer tags, reply-to tokens) become ``<queue 1>`` and so
  on, numbered as they appear; in texts too.
* Erlang wraps long terms in its texts: a line break and the blanks after it go.
* ``x-death``: the time goes, and an entry is a map (RabbitMQ 3.10 and 4.x write its keys in
  different orders). ``x-last-death-*`` goes: only 4.x has it. So does ``x-acquired-count`` (4.3),
  and an ``x-delivery-count`` of 0, which 4.x doesn't send. An empty header table is none.
* ``basic.nack`` of a publisher: its ``requeue`` bit means nothing.
* A confirm of several messages is as many confirms of one, in order of their numbers. Where they
  stand among other answers is a race; that a message is returned before it is confirmed is not.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from mqkit import wire
from mqkit.wire import Typed, methods
from mqkit.wire.properties import HEADER_PREFIX

GENERATED = re.compile(
    r"amq\.(?P<queue>gen)-[\w-]+|amq\.(?P<tag>ctag)-[\w-]+"
    r"|amq\.rabbitmq\.(?P<token>reply-to)\.[^\s']+"
)
WRAPPED = re.compile(r"\n *")
LATER_HEADERS = ("x-last-death-", "x-acquired-count")
DELIVERY_COUNT = "x-delivery-count"
CONTENT_TYPE, CONTENT_ENCODING = 1 << 15, 1 << 14


class Names:
    """The names that one broker has chosen so far, and what they are called here."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def evened(self, text: str) -> str:
        """The text with every chosen name replaced."""
        return GENERATED.sub(self._name, WRAPPED.sub("", text))

    def _name(self, match: re.Match[str]) -> str:
        found = match[0]
        if found not in self._known:
            number = sum(known.startswith(f"<{match.lastgroup} ") for known in self._known.values())
            self._known[found] = f"<{match.lastgroup} {number + 1}>"
        return self._known[found]


def told(method: methods.Method, names: Names) -> tuple[Any, ...]:
    """A method as a tuple: its name, and its fields that mean something."""
    skipped = {"requeue"} if isinstance(method, methods.BasicNack) else set()
    values = [
        getattr(method, part.name)
        for part in fields(method)  # type: ignore[arg-type]
        if part.name not in skipped
    ]
    evened = [names.evened(value) if isinstance(value, str) else value for value in values]
    return (method.NAME, *evened)


def message(command: wire.Command, names: Names) -> dict[str, Any]:
    """Properties, headers (with their exact types) and body of a message."""
    properties = command.properties()
    found: dict[str, Any] = {
        part.name: getattr(properties, part.name)
        for part in fields(properties)
        if getattr(properties, part.name) is not None
    }
    headers = _headers(_exact_headers(command.header)) if found.pop("headers", None) else None
    if headers:
        found["headers"] = headers
    if "reply_to" in found:
        found["reply_to"] = names.evened(found["reply_to"])
    found["body"] = command.body
    return found


def _headers(table: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in table.items() if not name.startswith(LATER_HEADERS)}
    if kept.get(DELIVERY_COUNT) == Typed("l", 0):
        del kept[DELIVERY_COUNT]
    deaths = kept.get("x-death")
    if isinstance(deaths, list):
        kept["x-death"] = [
            {name: value for name, value in death.items() if name != "time"}
            if isinstance(death, dict)
            else death
            for death in deaths
        ]
    return {name: _typed(value) for name, value in kept.items()}


def _typed(value: Any) -> Any:
    """With the type beside the value, for to Python ``True``, ``1`` and ``1.0`` are equal."""
    match value:
        case dict():
            return {name: _typed(inner) for name, inner in value.items()}
        case list():
            return [_typed(inner) for inner in value]
    return type(value).__name__, value


def _exact_headers(header: bytes) -> dict[str, Any]:
    """The header table with the types that were sent: a 64-bit 5 is not a 32-bit one."""
    flags = HEADER_PREFIX.unpack_from(header)[3]
    offset = HEADER_PREFIX.size
    for flag in (CONTENT_TYPE, CONTENT_ENCODING):
        if flags & flag:
            offset += 1 + header[offset]
    return wire.decode_table(header, offset, exact=True)[0]
