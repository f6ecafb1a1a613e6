"""The DOT text of a small graph, and Graphviz itself where it is installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from mqkit.topology.graph.dot import to_dot
from mqkit.topology.graph.graph import Edge, EdgeKind, Graph, Node, NodeKind

GRAPH = Graph(
    (
        Node("n1", NodeKind.EXCHANGE, ("email", "topic")),
        Node("n2", NodeKind.QUEUE, ('"];<script>', "3 messages, 1 consumer")),
    ),
    (Edge("n1", "n2", EdgeKind.BINDING, "*.sent"), Edge("n2", "n1", EdgeKind.ALTERNATE)),
)


def test_a_directed_graph() -> None:
    assert to_dot(GRAPH) == (
        "digraph topology {\n"
        "    rankdir=LR;\n"
        '    n1 [label="email\\ntopic", shape=hexagon];\n'
        '    n2 [label="&#34;&#93;&#59;&#60;script&#62;\\n3 messages, 1 consumer",'
        " shape=cylinder];\n"
        '    n1 -> n2 [label="*.sent", style=solid];\n'
        "    n2 -> n1 [style=bold];\n"
        "}\n"
    )


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_takes_it() -> None:
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=to_dot(GRAPH), capture_output=True, text=True, check=True
    )
    assert '"];<script>' in drawn.stdout.replace('\\"', '"')
