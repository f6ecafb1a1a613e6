"""Any names, drawn in either language, and read back by a strict reader of what is written.

A reader takes a line only if all of it is syntax that it knows. A label may hold nothing but
letters, digits, a few marks, and codes of characters: so nothing of a name is left that the
language could take for its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.topology.graph.dot import EDGE_STYLES, STYLES, to_dot
from mqkit.topology.graph.graph import Edge, EdgeKind, Graph, Node, NodeKind
from mqkit.topology.graph.mermaid import ARROWS, DASHED, SHAPES, to_mermaid

NASTY = (
    '"];<script>', "a\nb", "\\", '\\"', "%%{init: {}}%%", "n1 --> n2", "end", "1. list", "- list",
    "`code`", "**bold**", "_it_", "#quot;", "#35;", "&quot;", "&#34;", "&amp;", "<br/>", "| x |",
    "]", ")", "})", "é", "日本語", "\u202etxet", "\x00", "\x7f", " ", "  two  ", "style a:b#c;",
    "subgraph", "classDef x", "\\n", "\\l", "x -> y;", "}", "//", "/*", "name:::class", "\r\n",
    "\u2028", "😀", "email_queue", "a.b-c_d/e", "digraph", "HTML <b>", "http://x.y",
    "fa:fa-car", "$$x^2$$",
)  # fmt: skip
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
nasty = st.sampled_from(NASTY)
names = nasty | texts | st.lists(nasty | texts, min_size=2, max_size=4).map("".join)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """With ids as the builder makes them."""
    lines = draw(st.lists(st.lists(names, min_size=1, max_size=3), min_size=1, max_size=4))
    kinds = st.sampled_from(NodeKind)
    nodes = [Node(f"n{at}", draw(kinds), tuple(text)) for at, text in enumerate(lines, 1)]
    ids = st.sampled_from([node.id for node in nodes])
    edge = st.builds(Edge, ids, ids, st.sampled_from(EdgeKind), st.just("") | names)
    return Graph(tuple(nodes), tuple(draw(st.lists(edge, max_size=4))))


# -- Mermaid ---------------------------------------------------------------------------------------

MARK = r"(?<=[^\W_])[-._/](?=[^\W_])|(?<=[^\s\"])[ ](?=[^\W_])"
PIECE = rf"#\d+;|[^\W_]|{MARK}"
MERMAID_LABEL = rf'"((?:{PIECE})*(?:<br/>(?:{PIECE})*)*)"'


def mermaid_text(label: str) -> str:
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)


def read_mermaid(text: str) -> Graph:
    first, *lines = text.removesuffix("\n").split("\n")
    assert first == "flowchart LR"
    shown: dict[str, tuple[str, tuple[str, ...]]] = {}
    classes: dict[str, str] = {}
    edges = []
    arrows = {arrow: kind for kind, arrow in ARROWS.items()}
    for line in lines:
        if match := re.fullmatch(rf"    (n\d+)([(\[]+){MERMAID_LABEL}([)\]]+)", line):
            shape = (f'{match[2]}"', f'"{match[4]}')
            assert shape in SHAPES.values()
            shown[match[1]] = (shape[0], tuple(map(mermaid_text, match[3].split("<br/>"))))
        elif match := re.fullmatch(rf"    (n\d+) ([-=.>o]+)(?:\|{MERMAID_LABEL}\|)? (n\d+)", line):
            label = mermaid_text(match[3] or "")
            edges.append(Edge(match[1], match[4], arrows[match[2]], label))
        elif match := re.fullmatch(r"    class ((?:n\d+,)*n\d+) (\w+)", line):
            classes |= dict.fromkeys(match[1].split(","), match[2])
        else:
            assert re.fullmatch(r"    classDef (tier|lot|missing) stroke-dasharray: 4", line), line
    nodes = []
    for name, (shape_begin, label_lines) in shown.items():
        kind = classes.get(name) or ("exchange" if shape_begin == '(["' else "queue")
        assert (SHAPES[NodeKind(kind)][0], kind in DASHED) == (shape_begin, name in classes)
        nodes.append(Node(name, NodeKind(kind), label_lines))
    return Graph(tuple(nodes), tuple(edges))


# -- DOT -------------------------------------------------------------------------------------------

DOT_LABEL = r'"((?:&#\d+;|\\n|[^\W_]|[ \-._/,:()*#+=@])*)"'


def dot_text(label: str) -> str:
    return re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), label)


def read_dot(text: str) -> Graph:
    first, second, *lines, last, rest = text.split("\n")
    assert (first, second, last, rest) == ("digraph topology {", "    rankdir=LR;", "}", "")
    kinds = {style: kind for kind, style in STYLES.items()}
    lines_by_kind = {style: kind for kind, style in EDGE_STYLES.items()}
    # Tiers and lots look alike, so the first of them stands for both.
    nodes, edges = [], []
    for line in lines:
        if match := re.fullmatch(rf"    (n\d+) \[label={DOT_LABEL}, ([\w=, ]+)\];", line):
            shown = tuple(map(dot_text, match[2].split("\\n")))
            nodes.append(Node(match[1], kinds[match[3]], shown))
        else:
            match = re.fullmatch(
                rf"    (n\d+) -> (n\d+) \[(?:label={DOT_LABEL}, )?([\w=, ]+)\];", line
            )
            assert match is not None, line
            label = dot_text(match[3] or "")
            edges.append(Edge(match[1], match[2], lines_by_kind[match[4]], label))
    return Graph(tuple(nodes), tuple(edges))


# -- both ------------------------------------------------------------------------------------------


@given(graphs())
def test_mermaid_reads_back(graph: Graph) -> None:
    assert read_mermaid(to_mermaid(graph)) == graph


@given(graphs())
def test_dot_reads_back(graph: Graph) -> None:
    shown = {NodeKind.TIER: NodeKind.LOT}
    alike = tuple(
        Node(node.id, shown.get(node.kind, node.kind), node.lines) for node in graph.nodes
    )
    assert read_dot(to_dot(graph)) == Graph(alike, graph.edges)


@pytest.mark.parametrize(("render", "read"), [(to_mermaid, read_mermaid), (to_dot, read_dot)])
@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_name(
    render: Callable[[Graph], str], read: Callable[[str], Graph], name: str
) -> None:
    edges = (Edge("n1", "n2", EdgeKind.DEAD_LETTER, name), Edge("n2", "n1", EdgeKind.BINDING))
    nodes = (Node("n1", NodeKind.QUEUE, (name, "classic")), Node("n2", NodeKind.EXCHANGE, (name,)))
    text = render(Graph(nodes, edges))
    assert read(text) == Graph(nodes, edges)
    assert text.isascii() or not name.isascii()


@pytest.mark.parametrize("render", [to_mermaid, to_dot])
def test_a_reader_would_see_an_unescaped_name(render: Callable[[Graph], str]) -> None:
    """The readers take nothing that they do not know."""
    read = read_mermaid if render is to_mermaid else read_dot
    text = render(Graph((Node("n1", NodeKind.QUEUE, ("plain",)),), ()))
    with pytest.raises(AssertionError):
        read(text.replace("plain", '"];<script>'))
