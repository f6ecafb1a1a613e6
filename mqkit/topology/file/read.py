"""The reader of a topology file: from its tree to the model. Every fault of form is found in one
pass."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from mqkit.topology.file.document import Entry, MappingNode, Node, ScalarNode
from mqkit.topology.file.fault import Fault, topology_error
from mqkit.topology.file.lots_section import read_alert, read_lot
from mqkit.topology.file.policy_section import read_policies, read_via_policy
from mqkit.topology.file.retry_section import lines_of_names, read_retry
from mqkit.topology.file.section import Section
from mqkit.topology.file.sources import Source, names_of, read_files, tree_of
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

TOPOLOGY_KEYS = ("vhost", "exchanges", "queues", "policies", "lots")
EXCHANGE_KEYS = (
    *("type", "durable", "auto_delete", "internal", "external", "alternate", "delays", "bind"),
    "arguments",
)
QUEUE_KEYS = (
    *("type", "durable", "exclusive", "auto_delete", "external", "bind", "max_length"),
    *("max_length_bytes", "overflow", "message_ttl", "expires", "max_priority", "dead_letter"),
    *("retry", "alert", "via_policy", "arguments"),
)


class ExchangeType(StrEnum):
    """The types that every broker has."""

    DIRECT = "direct"
    TOPIC = "topic"
    FANOUT = "fanout"
    HEADERS = "headers"


def load(
    path: str | os.PathLike[str],
    *more: str | os.PathLike[str],
    variables: Mapping[str, str] | None = None,
) -> Topology:
    """The topology of the YAML file ``path``, with ``more`` laid over it in turn, complete and
    valid: mappings merge, lists and scalars are replaced.

    ``variables`` are for ``${NAME}`` in the files; by default those of the environment. Raises
    :exc:`~mqkit.errors.TopologyError` with every fault found, sorted by file and line.
    """
    topology, faults = check_files((path, *more), variables=variables)
    if faults:
        raise topology_error(topology.file, faults)
    return topology


def loads(
    text: str, file: str = "topology", *, variables: Mapping[str, str] | None = None
) -> Topology:
    """Like :func:`load`, for text in memory; ``file`` is what messages call it, and there are no
    ``variables`` but those that are given."""
    topology, faults = check(text, file, variables=variables)
    if faults:
        raise topology_error(file, faults)
    return topology


def check_files(
    files: Sequence[str | os.PathLike[str]], *, variables: Mapping[str, str] | None = None
) -> tuple[Topology, list[Fault]]:
    """Like :func:`check`, for files as :func:`load` takes them; one that can't be read is a
    fault."""
    sources, faults = read_files(files)
    if faults or not sources:
        return Topology(file=names_of(files)), sorted(faults)
    return _check(sources, os.environ if variables is None else variables)


def check(
    text: str, file: str = "topology", *, variables: Mapping[str, str] | None = None
) -> tuple[Topology, list[Fault]]:
    """The topology in ``text`` as far as it could be read, and every fault, sorted by line. Never
    raises. Of a text with a variable that has no value, or a key twice, there is no topology."""
    return _check([Source(file, text)], variables or {})


def _check(sources: Sequence[Source], variables: Mapping[str, str]) -> tuple[Topology, list[Fault]]:
    file = names_of(source.name for source in sources)
    root, faults = tree_of(sources, variables)
    if root is None:
        return Topology(file=file), sorted(set(faults))
    return read_tree(root, file, faults)


def read_tree(root: Node, file: str, before: Iterable[Fault] = ()) -> tuple[Topology, list[Fault]]:
    """The topology that a tree says, and every fault, sorted. ``before`` are the faults that
    the tree was made with: what is said of the same lines is said once, and nothing is made of
    the tree."""
    faults = list(before)
    told = {(fault.source, fault.line) for fault in faults}
    top = Section(root, "", TOPOLOGY_KEYS, faults)
    exchanges, queues = [], []
    objects: set[str] = set()
    for path, entry in top.entries("exchanges", "exchange names to exchanges"):
        objects.add(path)
        exchanges.append(_exchange(entry, path, faults))
    for path, entry in top.entries("queues", "queue names to queues"):
        objects.add(path)
        queues.append(_queue(entry, path, faults))
    policies = read_policies(top, objects)
    lots = []
    for path, entry in top.entries("lots", "names of parking lots to what is done by the clock"):
        objects.add(path)
        lots.append(read_lot(entry, path, faults))
    topology = Topology(
        tuple(exchanges), tuple(queues), top.text("vhost"), file, policies, tuple(lots)
    )
    wrong = {_object_of(fault.path, objects) for fault in faults}
    if None not in wrong:
        # What could not be read right is not judged again by its meaning.
        meant_wrong = validate(topology)
        faults += [fault for fault in meant_wrong if _object_of(fault.path, objects) not in wrong]
    read = [fault for fault in faults if fault.path == "" or (fault.source, fault.line) not in told]
    return Topology(file=file) if told else topology, sorted(set(read))


def _object_of(path: str, objects: set[str]) -> str | None:
    """The object to whose path ``path`` belongs; ``None`` for the file's own form."""
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
        via_policy=read_via_policy(section),
        alert=read_alert(section, "depth"),
        bind=_binds(section),
        arguments=section.arguments(),
        line=entry.line,
        key_lines={**section.lines(), **lines_of_names(section)},
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
