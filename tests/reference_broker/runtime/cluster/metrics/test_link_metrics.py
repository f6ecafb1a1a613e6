"""link_metrics: of each peer, whether there is a link with it or not."""

from __future__ import annotations

from reference_broker.cluster.link.lane import Lane
from reference_broker.runtime.cluster.metrics.link_metrics import link_families
from reference_broker.testing.mesh_net import MeshNet, MeshNode


def _samples(node: MeshNode, *peers: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The values by the labels' values, by the name of the family."""
    families = link_families(node.mesh, peers, lambda link, lane: 5 if lane is Lane.ASK else 0)
    return {
        family.name.removeprefix("mqkit_cluster_"): {
            tuple(sample.labels.values()): sample.value for sample in family.samples
        }
        for family in families
    }


def test_a_link_that_is_there_and_one_that_is_not() -> None:
    net = MeshNet("a", "b").linked()
    found = _samples(net.nodes["a"], "b", "c")
    assert found["link_up"] == {("mqkit@b",): 1, ("mqkit@c",): 0}
    assert list(found["link_round_trip_seconds"]) == [("mqkit@b",)]
    assert found["links_lost_total"] == {("mqkit@b",): 0, ("mqkit@c",): 0}
    assert found["link_waiting_bytes"] == {
        ("mqkit@b", "publish"): 0, ("mqkit@b", "deliver"): 0, ("mqkit@b", "ask"): 5,
    }  # fmt: skip
    assert found["link_frames_total"]["mqkit@b", "control", "sent"] > 0
    assert found["link_frames_total"]["mqkit@c", "control", "sent"] == 0


def test_counts_outlive_their_link() -> None:
    net = MeshNet("a", "b").linked()
    a = net.nodes["a"]
    a.mesh.links["b"].send(Lane.DELIVER, 1, (bytes(70_000),))
    before = _samples(a, "b")
    assert before["link_waiting_bytes"]["mqkit@b", "deliver"] == 70_000 + 256
    a.mesh.links["b"].data_to_send(1 << 20)
    net.wires[0].dialled.lost("reset")
    found = _samples(a, "b")
    assert found["link_up"] == {("mqkit@b",): 0}
    assert found["links_lost_total"] == {("mqkit@b",): 1}
    assert found["link_frames_total"]["mqkit@b", "deliver", "sent"] == 1
    assert found["link_bytes_total"]["mqkit@b", "deliver", "sent"] == 70_000 + 11
    assert found["link_waiting_bytes"] == {}
    assert found["link_round_trip_seconds"] == {}


def test_a_lane_whose_receiver_is_behind_has_stalled() -> None:
    net = MeshNet("a", "b").linked()
    link = net.nodes["a"].mesh.links["b"]
    while not link.is_stalled(Lane.PUBLISH):
        link.send(Lane.PUBLISH, 1, (bytes(3_000_000),))
        link.data_to_send(1 << 30)
    found = _samples(net.nodes["a"], "b")
    assert found["link_credit_stalls_total"] == {
        ("mqkit@b", "publish"): 1, ("mqkit@b", "deliver"): 0, ("mqkit@b", "ask"): 0,
    }  # fmt: skip
    assert found["link_waiting_bytes"]["mqkit@b", "publish"] == 3_000_000 + 256
