"""One tree laid over another. Pure.

Mappings merge, key by key; a list or a scalar takes the place of what was there. Nothing is taken
away: a key with nothing after it (``name:``) leaves a mapping that is there as it is.
"""

from __future__ import annotations

from mqkit.topology.file.document import (
    MAX_ITEMS,
    MAX_NODES,
    TOO_MANY_NODES,
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    too_many,
)
from mqkit.topology.file.fault import Fault


def overlay(base: Node, over: Node) -> tuple[Node, list[Fault]]:
    """``over`` laid over ``base``. Each part keeps the line, and the file, of the one that said it
    last; a mapping that both have keeps those of ``base``.

    Limits hold over both; of two trees that break them, the fault tells, and ``base`` is left.
    """
    if base.size + over.size > MAX_NODES:
        return base, [Fault(over.line, "", TOO_MANY_NODES)]
    faults: list[Fault] = []
    return _merged(base, over, faults), faults


def _merged(base: Node, over: Node, faults: list[Fault]) -> Node:
    if not isinstance(base, MappingNode):
        return over
    if isinstance(over, ScalarNode) and over.value is None:
        return base
    if not isinstance(over, MappingNode):
        return over
    entries = {entry.key: entry for entry in base.entries}
    for entry in over.entries:
        known = entries.get(entry.key)
        entries[entry.key] = entry if known is None else _laid_over(known, entry, faults)
    if len(entries) > MAX_ITEMS:
        faults.append(Fault(over.line, "", too_many(MAX_ITEMS)))
        return base
    size = base.size + over.size
    return MappingNode(base.line, tuple(entries.values()), size, max(base.depth, over.depth))


def _laid_over(base: Entry, over: Entry, faults: list[Fault]) -> Entry:
    value = _merged(base.value, over.value, faults)
    kept = isinstance(value, MappingNode) and value.line is base.value.line
    return Entry(base.key, base.line if kept else over.line, value)
