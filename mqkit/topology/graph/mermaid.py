"""A graph as a Mermaid flowchart.

A label stands in quotes. Only letters, digits, and ``- . _ /`` or a space between two of these
stand for themselves; everything else is an entity code such as ``#34;`` (Mermaid, "Entity codes to
escape characters"), which it turns into text after it has looked for its own syntax and for
Markdown. So no name ends a label, begins a directive or becomes markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqkit.topology.graph.graph import EdgeKind, Graph, NodeKind

SHAPES = {
    NodeKind.EXCHANGE: ('(["', '"])'),
    NodeKind.QUEUE: ('[("', '")]'),
    NodeKind.TIER: ('[("', '")]'),
    NodeKind.LOT: ('[("', '")]'),
    NodeKind.MISSING: ('["', '"]'),
}
ARROWS = {
    EdgeKind.BINDING: "-->",
    EdgeKind.DEAD_LETTER: "-.->",
    EdgeKind.ALTERNATE: "==>",
    EdgeKind.HAND_OVER: "--o",
}
DASHED = (NodeKind.TIER, NodeKind.LOT, NodeKind.MISSING)
BREAK = "<br/>"
_BETWEEN = frozenset("-._/")


def to_mermaid(graph: Graph) -> str:
    """The text of the flowchart, which ends with a line break."""
    return "".join(f"{line}\n" for line in _lines(graph))


def escape(text: str) -> str:
    """``text`` as it may stand in a label."""
    return "".join(
        character if _is_plain(text, at) else f"#{ord(character)};"
        for at, character in enumerate(text)
    )


def _is_plain(text: str, at: int) -> bool:
    """A line break, a list's hyphen, emphasis: none of them stands between two letters. Two spaces
    would become one."""
    if text[at].isalnum():
        return True
    if not 0 < at < len(text) - 1:
        return False
    if text[at] == " ":
        return not text[at - 1].isspace() and text[at + 1].isalnum()
    return text[at] in _BETWEEN and text[at - 1].isalnum() and text[at + 1].isalnum()


def _lines(graph: Graph) -> Iterator[str]:
    yield "flowchart LR"
    for node in graph.nodes:
        opening, closing = SHAPES[node.kind]
        yield f"    {node.id}{opening}{_label(node.lines)}{closing}"
    for edge in graph.edges:
        label = f'|"{escape(edge.label)}"|' if edge.label else ""
        yield f"    {edge.source} {ARROWS[edge.kind]}{label} {edge.target}"
    for kind in DASHED:
        ids = [node.id for node in graph.nodes if node.kind is kind]
        if ids:
            yield f"    classDef {kind} stroke-dasharray: 4"
            yield f"    class {','.join(ids)} {kind}"


def _label(lines: Iterable[str]) -> str:
    return BREAK.join(map(escape, lines))
