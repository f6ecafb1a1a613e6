"""alarm_links: nodes tell their own alarms at once, and a node that is gone blocks nobody."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import ConnectionBlocked
from reference_broker.cluster.alarm_links import ALARMS
from reference_broker.cluster.link.lane import Lane
from reference_broker.core.alarms import Alarm, Alarms
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.mesh_net import MeshNet, MeshNode


def _nodes(*names: str, linked: bool = True) -> tuple[MeshNet, dict[str, Alarms]]:
    net = MeshNet(*names)
    alarms = {name: _attached(node) for name, node in net.nodes.items()}
    return (net.linked() if linked else net), alarms


def _attached(node: MeshNode) -> Alarms:
    alarms = LoneBroker().broker.alarms
    node.mesh.alarms.attach(alarms)
    return alarms


def _elsewhere(alarms: dict[str, Alarms]) -> list[dict[str, tuple[Alarm, ...]]]:
    return [dict(each.elsewhere) for each in alarms.values()]


def test_a_change_is_told_to_all_at_once_and_not_told_on() -> None:
    net, alarms = _nodes("a", "b", "c")
    alarms["b"].sound(Alarm.MEMORY)
    net.settle()
    heard = {"b": (Alarm.MEMORY,)}
    assert _elsewhere(alarms) == [heard, {}, heard]
    alarms["b"].hold(Alarm.DISK)
    alarms["a"].sound(Alarm.DISK)
    net.settle()
    both, disk = (Alarm.MEMORY, Alarm.DISK), (Alarm.DISK,)
    assert _elsewhere(alarms) == [{"b": both}, {"a": disk}, {"a": disk, "b": both}]
    alarms["b"].clear(Alarm.MEMORY)
    alarms["b"].release(Alarm.DISK)
    alarms["a"].clear(Alarm.DISK)
    net.settle()
    assert _elsewhere(alarms) == [{}, {}, {}]
    assert not any(each.sounding for each in alarms.values())


def test_a_second_reason_for_the_same_alarm_is_no_news() -> None:
    net, alarms = _nodes("a", "b")
    alarms["a"].sound(Alarm.MEMORY)
    net.settle()
    net.nodes["a"].shell.looked_at.clear()
    alarms["a"].hold(Alarm.MEMORY)
    alarms["a"].clear(Alarm.MEMORY)
    assert net.nodes["a"].shell.looked_at == {}
    alarms["a"].release(Alarm.MEMORY)
    assert len(net.nodes["a"].shell.looked_at) == 1, "it is written before the turn ends"


def test_a_link_begins_with_what_is_on_at_both_ends() -> None:
    net, alarms = _nodes("a", "b", linked=False)
    alarms["a"].sound(Alarm.DISK)
    alarms["b"].hold(Alarm.MEMORY)
    net.linked()
    assert _elsewhere(alarms) == [{"b": (Alarm.MEMORY,)}, {"a": (Alarm.DISK,)}]


def test_an_alarm_ends_with_the_link_and_is_back_with_the_next() -> None:
    net, alarms = _nodes("a", "b")
    alarms["b"].sound(Alarm.DISK)
    net.settle()
    net.nodes["a"].mesh.links["b"].lost("cut")
    assert _elsewhere(alarms) == [{}, {}]
    net.pass_time(1.0)
    assert _elsewhere(alarms) == [{"b": (Alarm.DISK,)}, {}]


def test_one_that_dies_in_silence_blocks_nobody_once_that_is_noticed() -> None:
    net, alarms = _nodes("a", "b")
    alarms["b"].sound(Alarm.DISK)
    net.settle()
    net.lose("b", "a")
    net.pass_time(3.0)
    assert not alarms["a"].sounding


def test_a_newer_link_in_the_place_of_another_ends_no_alarm_in_between() -> None:
    net, alarms = _nodes("a", "b")
    lone = LoneBroker()
    net.nodes["b"].mesh.alarms.attach(lone.broker.alarms)
    alarms["a"].sound(Alarm.DISK)
    net.settle()
    client = lone.client()
    client.publish("q")
    assert client.methods() == [ConnectionBlocked("low on disk")]
    # a's end is lost, and its next connection is there before b knows.
    before = net.nodes["b"].mesh.links["a"]
    net.nodes["a"].mesh.links["b"].lost("cut")
    net.wires.clear()
    net.pass_time(1.0)
    assert net.nodes["b"].mesh.links["a"] is not before
    assert client.methods() == []
    assert lone.broker.alarms.sounding


@pytest.mark.parametrize("payload", [b"", b"\1\0"])
def test_what_cannot_be_read_ends_the_link(payload: bytes) -> None:
    net, alarms = _nodes("a", "b")
    link = net.nodes["a"].mesh.links["b"]
    link.send(Lane.CONTROL, ALARMS, (payload,))
    net.settle()
    assert "ALARMS" in link.reason
    assert not alarms["b"].sounding


def test_alarms_that_this_version_does_not_know_are_none() -> None:
    net, alarms = _nodes("a", "b")
    link = net.nodes["a"].mesh.links["b"]
    link.send(Lane.CONTROL, ALARMS, (b"\xf2",))
    net.settle()
    assert _elsewhere(alarms)[1] == {"a": (Alarm.DISK,)}
    link.send(Lane.CONTROL, ALARMS, (b"\xf0",))
    net.settle()
    assert not alarms["b"].sounding


def test_a_node_without_a_broker_hears_and_has_none() -> None:
    net = MeshNet("a", "b")
    alarms = _attached(net.nodes["a"])
    alarms.sound(Alarm.DISK)
    net.linked()
    assert list(net.nodes["b"].mesh.links) == ["a"]
    assert dict(alarms.elsewhere) == {}
