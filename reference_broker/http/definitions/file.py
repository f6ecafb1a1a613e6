"""A definitions file, read: the exchanges, queues and bindings that it wants. Pure; an item a step.

The format is RabbitMQ's (rabbitmq.com/docs/definitions): a JSON object of sections, each a list
of objects. Reading stops at nothing: every item that can't be used becomes a fault with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from mqkit.wire import EncodeError, WireError, decode_table, encode_shortstr, encode_table
from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.base.names import RESERVED_PREFIX, cleaned
from reference_broker.core.work.until import Until
from reference_broker.http.request.answer import Row

Faults: TypeAlias = list[str]
"""Faults of a file's items, a text each that begins with the item's name."""

Steps: TypeAlias = Iterator[None]
"""Work on a file that its caller takes step by step, in portions: a step is an item of the file.
The work is done when there are no more steps."""

Making: TypeAlias = Iterator[Until | None]
"""The steps of making what a file wants; where one is not ``None``, that has to happen before the
next: the other nodes of a cluster are asked."""

MADE_AT_ONCE = 100
"""Objects for which the other nodes of a cluster are asked together: as many as its proposals carry
in one transaction."""

CLASSIC = QueueType.CLASSIC.value
_TYPE = "x-queue-type"

_SHOWN_CHARACTERS = 80


class ItemFault(Exception):
    """An item can't be imported, and why; the reader of the section adds the item's name."""


class ExchangeItem(NamedTuple):
    """An exchange that the file wants."""

    vhost: str
    name: str
    type: str
    durable: bool
    auto_delete: bool
    internal: bool
    arguments: dict[str, Any]

    @property
    def label(self) -> str:
        return f"exchange {self.name!r}"


class QueueItem(NamedTuple):
    """A queue that the file wants. No file has exclusive ones: those end with a connection."""

    vhost: str
    name: str
    durable: bool
    auto_delete: bool
    arguments: dict[str, Any]

    @property
    def label(self) -> str:
        return f"queue {self.name!r}"

    @property
    def is_server_named(self) -> bool:
        return _is_server_named(self.name)


class BindingItem(NamedTuple):
    """A binding that the file wants."""

    vhost: str
    source: str
    destination: str
    destination_is_queue: bool
    key: str
    arguments: dict[str, Any]

    @property
    def label(self) -> str:
        return f"binding {self.source!r} -> {self.destination!r}"

    @property
    def is_server_named(self) -> bool:
        return self.destination_is_queue and _is_server_named(self.destination)


Item = TypeVar("Item", ExchangeItem, QueueItem, BindingItem)
_Named = TypeVar("_Named", QueueItem, BindingItem)


@dataclass(slots=True)
class DefinitionsFile:
    """Exchanges, queues and bindings that a file wants, in the file's order, and the items that
    could not be read.

    ``skipped`` names the queues that a broker has named, with their bindings: RabbitMQ exports
    them, but nobody may declare such a name, and their clients ask for new ones.
    """

    exchanges: list[ExchangeItem] = field(default_factory=list)
    queues: list[QueueItem] = field(default_factory=list)
    bindings: list[BindingItem] = field(default_factory=list)
    faults: Faults = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of items that are to be declared."""
        return len(self.exchanges) + len(self.queues) + len(self.bindings)

    def read(self, body: Row, vhost: str | None) -> Steps:
        """Read the sections of a file. With ``vhost`` everything goes there, whatever the items say
        (as RabbitMQ does it); without, each item has to name its own."""
        faults = self.faults
        for queue in _items(body, "queues", "queue", vhost, _queue, faults):
            if queue is not None:
                self._keep(queue, self.queues)
            yield
        for binding in _items(body, "bindings", "binding", vhost, _binding, faults):
            if binding is not None:
                self._keep(binding, self.bindings)
            yield
        for exchange in _items(body, "exchanges", "exchange", vhost, _exchange, faults):
            if exchange is not None:
                self.exchanges.append(exchange)
            yield

    def _keep(self, item: _Named, items: list[_Named]) -> None:
        if item.is_server_named:
            self.skipped.append(item.label)
        else:
            items.append(item)


def rows(body: Row, section: str, faults: Faults) -> Iterator[tuple[int, Row | None]]:
    """The objects of a section with their numbers from 1; none where the file has no such section.
    An item that is no object is a fault, and ``None``."""
    found = body.get(section, [])
    if not isinstance(found, list):
        faults.append(f"{section}: {shown(found)} is not a list")
        return
    for number, row in enumerate(found, 1):
        if isinstance(row, dict):
            yield number, row
        else:
            faults.append(f"{section}, item {number}: {shown(row)} is not an object")
            yield number, None


def text_of(row: Row, name: str) -> str:
    """The text under ``name``, which must fit where AMQP has names. Raises :exc:`ItemFault`."""
    value = row.get(name)
    if not isinstance(value, str):
        raise ItemFault(_unsuitable(row, name, "a text"))
    try:
        encode_shortstr(value)
    except (EncodeError, UnicodeEncodeError) as error:
        raise ItemFault(f"{name}: {error}") from error
    return value


def shown(value: object) -> str:
    """A value of the file, cut short for a message."""
    return f"{value!r:.{_SHOWN_CHARACTERS}}"


def _items(
    body: Row,
    section: str,
    kind: str,
    vhost: str | None,
    read: Callable[[Row, str], Item],
    faults: Faults,
) -> Iterator[Item | None]:
    """The items of a section, and ``None`` for each that is a fault."""
    for number, row in rows(body, section, faults):
        item = None
        if row is not None:
            try:
                item = read(row, text_of(row, "vhost") if vhost is None else vhost)
            except ItemFault as fault:
                faults.append(f"{_label(kind, number, row)}: {fault}")
        yield item


def _label(kind: str, number: int, row: Row) -> str:
    """The item's name; its number where it has none."""
    ends = [row.get("source"), row.get("destination")] if kind == "binding" else [row.get("name")]
    if not all(isinstance(end, str) for end in ends):
        return f"{kind} number {number}"
    return f"{kind} {' -> '.join(map(shown, ends))}"


def _exchange(row: Row, vhost: str) -> ExchangeItem:
    return ExchangeItem(
        vhost,
        text_of(row, "name"),
        text_of(row, "type"),
        _flag(row, "durable"),
        _flag(row, "auto_delete"),
        # RabbitMQ before 2.3 did not write it.
        _flag({"internal": False, **row}, "internal"),
        _arguments(row),
    )


def _queue(row: Row, vhost: str) -> QueueItem:
    queue_type = row.get("type", CLASSIC)
    if queue_type not in list(QueueType):
        raise ItemFault(f"this broker has no queues of type {shown(queue_type)}")
    name = text_of(row, "name")
    if not cleaned(name):
        raise ItemFault("the name is empty, and a queue of a file has to have one")
    return QueueItem(
        vhost,
        name,
        _flag(row, "durable"),
        _flag(row, "auto_delete"),
        # An argument says it too, in every file that a broker wrote.
        _arguments(row) if queue_type == CLASSIC else {_TYPE: queue_type, **_arguments(row)},
    )


def _binding(row: Row, vhost: str) -> BindingItem:
    kind = row.get("destination_type")
    if kind not in ("queue", "exchange"):
        raise ItemFault(_unsuitable(row, "destination_type", "'queue' or 'exchange'"))
    return BindingItem(
        vhost,
        text_of(row, "source"),
        text_of(row, "destination"),
        kind == "queue",
        text_of(row, "routing_key"),
        _arguments(row),
    )


def _is_server_named(queue: str) -> bool:
    return cleaned(queue).startswith(RESERVED_PREFIX)


def _flag(row: Row, name: str) -> bool:
    value = row.get(name)
    if not isinstance(value, bool):
        raise ItemFault(_unsuitable(row, name, "true or false"))
    return value


def _arguments(row: Row) -> dict[str, Any]:
    """The field table that a client would have sent. It goes through the codec here, for a value
    that can't be read again at the next start must never get into the log."""
    value = row.get("arguments", {})
    if value == []:  # how some tools write an empty table
        value = {}
    if not isinstance(value, dict):
        raise ItemFault(_unsuitable(row, "arguments", "an object"))
    try:
        return decode_table(encode_table(value), 0)[0]
    except (EncodeError, UnicodeEncodeError, WireError) as error:
        raise ItemFault(f"arguments: {error}") from error


def _unsuitable(row: Row, name: str, expected: str) -> str:
    if name not in row:
        return f"{name} is missing (expected {expected})"
    return f"{name} is {shown(row[name])} (expected {expected})"
