"""live_nodes: a node is there by its key or by its heartbeats, and gone without both."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.records import LiveRecord, NodeState, encoded

UP = LiveRecord(3, NodeState.UP, "127.0.0.1:25672")


class Heard:
    """Keeps who comes and goes."""

    def __init__(self) -> None:
        self.there: list[str] = []
        self.faults: list[str] = []

    def join(self, node: str) -> None:
        if node not in self.there:
            self.there.append(node)

    def leave(self, node: str) -> None:
        if node in self.there:
            self.there.remove(node)


def _nodes() -> tuple[LiveNodes, Heard]:
    heard = Heard()
    return LiveNodes("a", heard, heard.faults.append), heard


def _put(node: str, value: bytes = encoded(UP)) -> Event:
    return Event(f"live/{node}", value, 5)


def test_a_key_is_enough() -> None:
    nodes, heard = _nodes()
    nodes.changed(_put("b"))
    assert (heard.there, nodes.by_name["b"]) == (["b"], UP)
    nodes.changed(Event("live/b", None, 6))
    assert (heard.there, dict(nodes.by_name)) == ([], {})


def test_heartbeats_are_enough() -> None:
    nodes, heard = _nodes()
    nodes.changed(_put("b"))
    nodes.heard("b")
    nodes.changed(Event("live/b", None, 6))
    assert heard.there == ["b"]
    assert nodes.is_there("b")
    nodes.unheard("b")
    assert heard.there == []
    assert not nodes.is_there("b")


def test_a_link_that_is_down_is_no_death_while_the_key_is_there() -> None:
    nodes, heard = _nodes()
    nodes.changed(_put("b"))
    nodes.heard("b")
    nodes.unheard("b")
    nodes.unheard("c")
    assert heard.there == ["b"]


def test_the_node_itself_is_known_and_not_waited_for() -> None:
    nodes, heard = _nodes()
    nodes.changed(_put("a"))
    assert (heard.there, list(nodes.by_name)) == ([], ["a"])


def test_a_row_that_cannot_be_read_is_told_and_changes_nothing() -> None:
    nodes, heard = _nodes()
    nodes.changed(_put("b"))
    nodes.changed(_put("b", b"{"))
    assert heard.there == ["b"]
    assert "live/b" in heard.faults[0]


def test_the_others_are_those_with_a_key_or_heartbeats() -> None:
    nodes, _ = _nodes()
    for name in "acb":
        nodes.changed(_put(name))
    nodes.heard("d")
    assert nodes.others == ["b", "c", "d"]
    nodes.changed(Event("live/c", None, 6))
    nodes.unheard("d")
    assert nodes.others == ["b"]
