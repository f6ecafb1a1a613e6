"""A graph in Graphviz's DOT.

A label stands in quotes, where only a quote and a backslash have a meaning, and entities such as
``&#34;`` are turned into text (Graphviz, "DOT language" and "Character encodings"). So all but
letters, digits and harmless marks are entities; each backslash is of a line break of our own.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.topology.graph.graph import EdgeKind, Graph, NodeKind

STYLES = {
    NodeKind.EXCHANGE: "shape=hexagon",
    NodeKind.QUEUE: "shape=cylinder",
    NodeKind.TIER: "shape=cylinder, style=dashed",
    NodeKind.LOT: "shape=cylinder, style=dashed",
    NodeKind.MISSING: "shape=box, style=dotted",
}
EDGE_STYLES = {
    EdgeKind.BINDING: "style=solid",
    EdgeKind.DEAD_LETTER: "style=dashed",
    EdgeKind.ALTERNATE: "style=bold",
    EdgeKind.HAND_OVER: "style=solid, arrowhead=odot",
}
BREAK = "\\n"
_HARMLESS = frozenset(" -._/,:()*#+=@")


def to_dot(graph: Graph) -> str:
    """The text of the directed graph, which ends with a line break."""
    return "".join(f"{line}\n" for line in _lines(graph))


def escape(text: str) -> str:
    """``text`` as it may stand in a label."""
    return "".join(
        character if character.isalnum() or character in _HARMLESS else f"&#{ord(character)};"
        for character in text
    )


def _lines(graph: Graph) -> Iterator[str]:
    yield "digraph topology {"
    yield "    rankdir=LR;"
    for node in graph.nodes:
        label = BREAK.join(map(escape, node.lines))
        yield f'    {node.id} [label="{label}", {STYLES[node.kind]}];'
    for edge in graph.edges:
        label = f'label="{escape(edge.label)}", ' if edge.label else ""
        yield f"    {edge.source} -> {edge.target} [{label}{EDGE_STYLES[edge.kind]}];"
    yield "}"
