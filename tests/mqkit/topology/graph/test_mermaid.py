"""The Mermaid text of a small graph."""

from __future__ import annotations

from mqkit.topology.graph.graph import Edge, EdgeKind, Graph, Node, NodeKind
from mqkit.topology.graph.mermaid import escape, to_mermaid

GRAPH = Graph(
    (
        Node("n1", NodeKind.EXCHANGE, ("email", "topic")),
        Node("n2", NodeKind.QUEUE, ("email-queue", "3 messages, 1 consumer")),
        Node("n3", NodeKind.MISSING, ("gone", "no such queue")),
    ),
    (Edge("n1", "n2", EdgeKind.BINDING, "*.sent"), Edge("n2", "n3", EdgeKind.DEAD_LETTER)),
)


def test_a_flowchart() -> None:
    assert to_mermaid(GRAPH) == (
        "flowchart LR\n"
        '    n1(["email<br/>topic"])\n'
        '    n2[("email-queue<br/>3 messages#44; 1 consumer")]\n'
        '    n3["gone<br/>no such queue"]\n'
        '    n1 -->|"#42;#46;sent"| n2\n'
        "    n2 -.-> n3\n"
        "    classDef missing stroke-dasharray: 4\n"
        "    class n3 missing\n"
    )


def test_marks_stand_for_themselves_between_letters_alone() -> None:
    assert escape("a.b-c_d/e f") == "a.b-c_d/e f"
    assert escape("1. x") == "1#46; x"
    assert escape("-x- ") == "#45;x#45;#32;"
    assert escape("a  b") == "a#32;#32;b"
