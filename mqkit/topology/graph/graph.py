"""The picture of a topology: nodes and edges as values, in the order of the file or of the broker's
answers. A node's ``id`` is made here; names are in ``lines`` and labels alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NodeKind(StrEnum):
    """The kind of a node. ``missing``: something leads to it, and it does not exist."""

    EXCHANGE = "exchange"
    QUEUE = "queue"
    TIER = "tier"
    LOT = "lot"
    MISSING = "missing"


class EdgeKind(StrEnum):
    """``hand-over``: the application publishes there what failed (tiers, parking lots)."""

    BINDING = "binding"
    DEAD_LETTER = "dead-letter"
    ALTERNATE = "alternate"
    HAND_OVER = "hand-over"


@dataclass(frozen=True, slots=True)
class Node:
    """The first of ``lines`` is the object's name."""

    id: str
    kind: NodeKind
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """From the node ``source`` to the node ``target``, by their ids."""

    source: str
    target: str
    kind: EdgeKind
    label: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, and edges between them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
