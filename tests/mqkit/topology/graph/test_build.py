"""The picture of a file and of a broker: folded and unfolded, with counts, with what is missing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology import Snapshot, Wiring, compile_topology, graph_of, loads
from mqkit.topology.graph.graph import Edge, EdgeKind, Graph, NodeKind

FILE = """
exchanges:
  flights: {type: topic, delays: [5m], alternate: spill}
  spill: {type: fanout}
queues:
  delays: {bind: [{from: flights, key: "*.late"}], max_length: 5, retry: {after: [1s, 5s]}}
  spill: {bind: [{from: spill}]}
"""


def lines(graph: Graph) -> list[tuple[str, ...]]:
    return [node.lines for node in graph.nodes]


def edges(graph: Graph) -> list[tuple[str, str, str, str]]:
    """By name; the names of this file are unlike those of its exchanges, where that matters."""
    names = {node.id: node.lines[0] for node in graph.nodes}
    return [(names[it.source], str(it.kind), it.label, names[it.target]) for it in graph.edges]


def test_folded() -> None:
    graph = graph_of(Wiring.of_topology(loads(FILE)))
    assert lines(graph) == [
        ("flights", "topic", "delays 5m"),
        ("spill", "fanout"),
        ("delays", "retry 1s, 5s", "parks in delays.parked"),
        ("spill",),
    ]
    assert edges(graph) == [
        ("flights", "binding", "*.late", "delays"),
        ("spill", "binding", "", "spill"),
        ("flights", "alternate", "", "spill"),
    ]
    assert [node.id for node in graph.nodes] == ["n1", "n2", "n3", "n4"]


def test_unfolded() -> None:
    graph = graph_of(Wiring.of_topology(loads(FILE)), fold=False)
    kinds = {node.lines[0]: node.kind for node in graph.nodes if node.kind is not NodeKind.EXCHANGE}
    assert kinds["delays.retry.1s"] is NodeKind.TIER
    assert kinds["delays.parked"] is NodeKind.LOT
    found = edges(graph)
    assert ("delays.retry.5s", "dead-letter", "", "delays") in found
    assert ("delays", "hand-over", "", "delays.retry.5s") in found
    assert ("delays", "hand-over", "", "delays.parked") in found
    assert ("delays", "dead-letter", "", "delays.parked") in found
    assert ("flights.delay.5m", "dead-letter", "", "flights") in found


def test_counts_of_a_broker() -> None:
    topology = loads(FILE)
    wiring = Wiring.of_topology(topology).counted_by(Snapshot.of("/", compile_topology(topology)))
    delays = ("delays", "0 messages, 0 consumers", "retry 1s, 5s, 0 messages")
    assert (*delays, "parks in delays.parked, 0 messages") in lines(graph_of(wiring))


def test_a_broker_alone_folds_by_name() -> None:
    snapshot = Snapshot.of("/", compile_topology(loads(FILE)))
    graph = graph_of(Wiring.of_snapshot(snapshot))
    assert [name for name, *_ in lines(graph)] == ["flights", "spill", "delays", "spill"]


def test_what_leads_to_nothing_is_shown() -> None:
    dead = {"x-dead-letter-exchange": "gone", "x-dead-letter-routing-key": "k"}
    snapshot = Snapshot.of(
        "/",
        (
            Exchange("x", arguments={"alternate-exchange": "away"}),
            Queue("q", arguments=dead),
            Queue("p", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "no"}),
            Queue("own", arguments={"x-dead-letter-exchange": ""}),
            Binding("amq.topic", "q", "#"),
            Queue("gone.parked"),
        ),
    )
    graph = graph_of(Wiring.of_snapshot(snapshot))
    assert ("gone", "no such exchange") in lines(graph)
    assert ("away", "no such exchange") in lines(graph)
    assert ("no", "no such queue") in lines(graph)
    assert edges(graph) == [
        ("amq.topic", "binding", "#", "q"),
        ("x", "alternate", "", "away"),
        ("q", "dead-letter", "k", "gone"),
        ("p", "dead-letter", "", "no"),
        ("own", "dead-letter", "", "(default exchange)"),
        ("gone", "hand-over", "", "gone.parked"),
    ]


def test_external_objects_are_shown() -> None:
    text = "exchanges:\n  x: {external: true}\nqueues:\n  q: {bind: [{from: x}]}\n"
    graph = graph_of(Wiring.of_topology(loads(text + "  theirs: {external: true}\n")))
    assert ("x", "external") in lines(graph)
    assert ("theirs", "external") in lines(graph)


names = st.sampled_from(["a", "a.retry.5s", "a.parked", "a.parked.parked", "a.delay.5s", ""])
arguments: Any = st.fixed_dictionaries(
    {},
    optional={
        "x-dead-letter-exchange": names,
        "x-dead-letter-routing-key": names,
        "x-message-ttl": st.just(5),
    },
)
declarations = st.lists(
    st.builds(Exchange, names.filter(bool), arguments=st.just({}))
    | st.builds(Queue, names.filter(bool), arguments=arguments)
    | st.builds(Binding, names.filter(bool), names.filter(bool), names, st.booleans()),
    max_size=8,
)


@given(declarations, st.booleans())
def test_every_edge_has_its_nodes_and_every_node_an_id_of_its_own(
    objects: list[Any], fold: bool
) -> None:
    wiring = Wiring.of_snapshot(Snapshot.of("/", tuple(objects)))
    graph = graph_of(wiring, fold=fold)
    ids = [node.id for node in graph.nodes]
    assert len(set(ids)) == len(ids)
    assert {end for edge in graph.edges for end in (edge.source, edge.target)} <= set(ids)
    assert len(set(graph.edges)) == len(graph.edges)
    assert graph == graph_of(wiring, fold=fold)


def test_an_edge_is_drawn_once() -> None:
    snapshot = Snapshot.of("/", (Exchange("x"), Queue("q"), Binding("x", "q"), Binding("x", "q")))
    graph = graph_of(Wiring.of_snapshot(snapshot))
    assert graph.edges == (Edge("n1", "n2", EdgeKind.BINDING),)
