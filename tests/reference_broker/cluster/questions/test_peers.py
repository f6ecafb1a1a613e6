"""peers: the members of the cluster, and questions by their kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference_broker.cluster.membership.records import NodeState
from reference_broker.cluster.questions.asking import Gathered
from reference_broker.cluster.questions.question import Answer
from reference_broker.testing.apis.peer_apis import PeerApis


def test_the_states_of_members() -> None:
    apis = PeerApis("a", "b", "c")
    a = apis["a"]
    assert a.peers.others == ["b", "c"]
    a.see_members("d")
    a.mesh_node.see("b", state=NodeState.DRAINING)
    apis.cut("a", "c")
    assert [(each.node, each.state) for each in a.peers.members()] == [
        ("a", "running"),
        ("b", "draining"),
        ("c", "unreachable"),
        ("d", "down"),
    ]
    a.mesh_node.see("c", gone=True)
    assert a.peers.others == ["b"]
    a.mesh_node.view.reach(9)
    assert a.peers.revision == 9


def test_the_queues_of_members_and_the_links_with_them() -> None:
    apis = PeerApis("a", "b")
    a = apis["a"]
    a.see_members("c")
    homes = {"c": 3}
    assert [each.queues for each in a.peers.members()] == [0, 0, 0]
    a.peers.count_queues(homes)
    homes["a"] = 7
    assert [(each.node, each.queues) for each in a.peers.members()] == [
        ("a", 7),
        ("b", 0),
        ("c", 3),
    ]
    (link,) = a.peers.open_links()
    (back,) = apis["b"].peers.open_links()
    assert (link.node, back.node) == ("b", "a")
    assert link.sent_bytes == back.received_bytes > 0
    assert link.received_bytes == back.sent_bytes > 0
    apis.cut("a", "b")
    assert a.peers.open_links() == []


def _ask(apis: PeerApis, kind: str, **arguments: Any) -> Gathered:
    found: list[Gathered] = []
    apis["a"].peers.ask(["b"], kind, arguments, found.append)
    apis.net.settle()
    return found[0]


def test_whoever_knows_the_kind_answers() -> None:
    def double(
        node: str, arguments: dict[str, Any], reply: Callable[[dict[str, Any], bytes], None]
    ) -> None:
        reply({"twice": 2 * arguments["n"], "for": node}, b"body")

    apis = PeerApis("a", "b")
    apis["b"].peers.answer_with("double", double)
    answer = Answer({"twice": 8, "for": "a"}, b"body")
    assert _ask(apis, "double", n=4) == Gathered({"b": answer}, [])
    assert _ask(apis, "unknown") == Gathered({}, ["b"])


def test_a_question_that_is_too_long_has_no_answer() -> None:
    apis = PeerApis("a", "b")
    assert _ask(apis, "double", text="x" * 70_000) == Gathered({}, ["b"])
