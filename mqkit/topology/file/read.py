"""The reader of a topology file: from its tree to the model. Every fault of form is found in one
pass."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from mqkit.topology.file.document import (
    Entry,
    MappingNode,
    ScalarNode,
    parse_document,
)
from mqkit.topology.file.fault import Fault, topology_error
from mqkit.topology.file.lots_section import read_alert, read_lot
from mqkit.topology.file.retry_section import read_retry
from mqkit.topology.file.section import Section
from mqkit.topology.model import (
    Bind,
    DeadLetter,
    ExchangeModel,
    Overflow,
    QueueModel,
    QueueType,
    Topology,
)
from mqkit.topology.validation import validate

MAX_LENGTH = 2**63 - 1
MAX_PRIORITY = 255
"""``x-max-priority`` (RabbitMQ "Priority Queue Support")."""

PLUGIN_PREFIX = "x-"
"""Exchange types of plugins start so (``x-delayed-message``, ``x-consistent-hash``)."""

TOPOLOGY_KEYS = ("vhost", "exchanges", "queues", "lots")
EXCHANGE_KEYS = (
    *("type", "durable", "auto_delete", "internal", "external", "alternate", "delays", "bind"),
    "arguments",
)
QUEUE_KEYS = (
    *("type", "durable", "exclusive", "auto_delete", "external", "bind", "max_length"),
    *("max_length_bytes", "overflow", "message_ttl", "expires", "max_priority", "dead_letter"),
    *("retry", "alert", "arguments"),
)


class ExchangeType(StrEnum):
    """The types that every broker has."""

    DIRECT = "direct"
    TOPIC = "topic"
    FANOUT = "fanout"
    HEADERS = "headers"


def load(path: str | Path) -> Topology:
    """The topology of the YAML file ``path``, complete and valid.

    Raises :exc:`~mqkit.errors.TopologyError` with every fault found, sorted by line.
    """
    file = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        message = f"can't be read: {error.strerror or error}"
        raise topology_error(file, [Fault(0, "", message)]) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise topology_error(file, [Fault(line, "", "not UTF-8 text")]) from None
    return loads(text, file)


def loads(text: str, file: str = "topology") -> Topology:
    """Like :func:`load`, for text in memory; ``file`` is what messages call it."""
    topology, faults = check(text, file)
    if faults:
        raise topology_error(file, faults)
    return topology


def check(text: str, file: str = "topology") -> tuple[Topology, list[Fault]]:
    """The topology in ``text`` as far as it could be read, and every fault, sorted by line. Never
    raises."""
    root, faults = parse_document(text)
    if root is None:
        return Topology(file=file), sorted(faults)
    top = Section(root, "", TOPOLOGY_KEYS, faults)
    exchanges, queues = [], []
    objects: set[str] = set()
    for path, entry in top.entries("exchanges", "exchange names to exchanges"):
        objects.add(path)
        exchanges.append(_exchange(entry, path, faults))
    for path, entry in top.entries("queues", "queue names to queues"):
        objects.add(path)
        queues.append(_queue(entry, path, faults))
    lots = []
    for path, entry in top.entries("lots", "names of parking lots to what is done by the clock"):
        objects.add(path)
        lots.append(read_lot(entry, path, faults))
    topology = Topology(tuple(exchanges), tuple(queues), top.text("vhost"), file, tuple(lots))
    wrong = {_object_of(fault.path, objects) for fault in faults}
    if None not in wrong:
        # What could not be read right is not judged again by its meaning.
        meant_wrong = validate(topology)
        faults += [fault for fault in meant_wrong if _object_of(fault.path, objects) not in wrong]
    return topology, sorted(set(faults))


def _object_of(path: str, objects: set[str]) -> str | None:
    """The exchange or queue to whose path ``path`` belongs; ``None`` for the file's own form."""
    ends = [at for at, character in enumerate(path) if character in ".["]
    return next((path[:end] for end in (*ends, len(path)) if path[:end] in objects), None)


def _exchange(entry: Entry, path: str, faults: list[Fault]) -> ExchangeModel:
    section = _named(entry, path, EXCHANGE_KEYS, faults)
    return ExchangeModel(
        name=entry.key,
        type=_exchange_type(section),
        durable=section.flag("durable", default=True),
        auto_delete=section.flag("auto_delete", default=False),
        internal=section.flag("internal", default=False),
        external=section.flag("external", default=False),
        alternate=section.text("alternate"),
        delays=_delays(section),
        bind=_binds(section),
        arguments=section.arguments(),
        line=entry.line,
        key_lines=section.lines(),
    )


def _exchange_type(section: Section) -> str:
    name = section.text("type") if section.has("type") else "direct"
    if name is None or name.startswith(PLUGIN_PREFIX):
        return name or "direct"
    return str(section.choice("type", ExchangeType) or ExchangeType.DIRECT)


def _delays(section: Section) -> tuple[int, ...]:
    """Each once, shortest first; those that can't be read are left out."""
    read = (
        section.duration_of(node, path, 1)
        for path, node in section.items("delays", "times like [5m, 1h]")
    )
    return tuple(sorted({delay_ms for delay_ms in read if delay_ms is not None}))


def _queue(entry: Entry, path: str, faults: list[Fault]) -> QueueModel:
    section = _named(entry, path, QUEUE_KEYS, faults)
    return QueueModel(
        name=entry.key,
        type=section.choice("type", QueueType),
        durable=section.flag("durable", default=True),
        exclusive=section.flag("exclusive", default=False),
        auto_delete=section.flag("auto_delete", default=False),
        external=section.flag("external", default=False),
        max_length=section.count("max_length", 0, MAX_LENGTH),
        max_length_bytes=section.count("max_length_bytes", 0, MAX_LENGTH),
        overflow=section.choice("overflow", Overflow),
        message_ttl_ms=section.duration("message_ttl", 0),
        expires_ms=section.duration("expires", 1),
        max_priority=section.count("max_priority", 1, MAX_PRIORITY),
        dead_letter=_dead_letter(section),
        retry=read_retry(section),
        alert=read_alert(section, "depth"),
        bind=_binds(section),
        arguments=section.arguments(),
        line=entry.line,
        key_lines=section.lines(),
    )


def _named(entry: Entry, path: str, known: tuple[str, ...], faults: list[Fault]) -> Section:
    """The section of a named object; ``name:`` with nothing after it is one with no key set."""
    node = entry.value
    if isinstance(node, ScalarNode) and node.value is None:
        node = MappingNode(entry.line, (), 1)
    section = Section(node, path, known, faults)
    section.short(entry.key, entry.line, path)
    if section.flag("external", default=False):
        for key, line in section.lines().items():
            if key not in ("external", "alert"):
                message = f"{key!r} beside external: true (an external object is not declared here)"
                faults.append(Fault(line, path, message))
    return section


def _binds(section: Section) -> tuple[Bind, ...]:
    binds = []
    for path, node in section.items("bind", 'bindings like {from: flights, key: "*.late"}'):
        part = Section(node, path, ("from", "key", "arguments"), section.faults)
        source = part.text("from")
        if part.is_mapping and not part.has("from"):
            part.faults.append(Fault(node.line, path, "'from' is missing (expected an exchange)"))
        arguments = part.arguments()
        binds.append(Bind(source or "", part.text("key") or "", arguments, node.line))
    return tuple(binds)


def _dead_letter(section: Section) -> DeadLetter | None:
    node = section.node("dead_letter")
    if node is None:
        return None
    part = Section(node, section.child("dead_letter"), ("exchange", "key"), section.faults)
    exchange = part.text("exchange")
    if part.is_mapping and not part.has("exchange"):
        message = 'exchange is missing (expected a name, or "" for the default exchange)'
        part.faults.append(Fault(node.line, part.path, message))
    return DeadLetter(exchange or "", part.text("key"))
