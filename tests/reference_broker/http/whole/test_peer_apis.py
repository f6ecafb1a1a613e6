"""Two and three brokers whose management APIs are joined by links: each answers for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest

from mqkit.wire.methods import BasicCancel, BasicConsume, ConnectionClose, QueueDeclare
from reference_broker.cluster.membership.records import NodeState
from reference_broker.core.access.permission import Permission
from reference_broker.core.alarms import Alarm
from reference_broker.core.queue.ports import AttachedFrom
from reference_broker.http.request import peers
from reference_broker.http.serving import peer_requests
from reference_broker.testing.apis.peer_apis import PeerApis
from reference_broker.testing.lone_broker import LoneClient
from reference_broker.testing.lone_queue import LoneConsumer

pytestmark = pytest.mark.anyio

NODES = {"a": "mqkit@a", "b": "mqkit@b", "c": "mqkit@c"}


def _names(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["name"], row["node"]) for row in rows]


def _client(apis: PeerApis, node: str, port: int) -> LoneClient:
    """A client of the node, from that port."""
    client = apis[node].lone.client()
    peer = client.connection.peer
    client.connection.peer = type(peer)(peer.host, port, peer.local_host, peer.local_port)
    return client


# Queues


async def test_queues_are_those_of_all_nodes_with_counts_of_their_homes() -> None:
    apis = PeerApis("a", "b", "c")
    for number, home in enumerate("cab"):
        apis.declare(home, f"q{number}")
    apis["c"].lone.client().publish("q0", b"body")
    for at in "abc":
        for path in ("/api/queues", "/api/queues/%2F"):
            answer = await apis.get(at, path)
            assert _names(answer.json()) == [
                ("q0", "mqkit@c"),
                ("q1", "mqkit@a"),
                ("q2", "mqkit@b"),
            ]
            assert [row["messages"] for row in answer.json()] == [1, 0, 0]
            assert [row["state"] for row in answer.json()] == ["running"] * 3
            assert peers.UNREACHABLE not in answer.headers
    assert not any(home.asked for node in apis.nodes.values() for home in node.homes.values())


async def test_a_page_a_filter_a_sort_and_columns_are_of_the_merged_list() -> None:
    apis = PeerApis("a", "b")
    for number in range(6):
        apis.declare("ab"[number % 2], f"q{number}")
    publisher = {"a": apis["a"].lone.client(), "b": apis["b"].lone.client()}
    for number in range(6):
        for _ in range(6 - number):
            publisher["ab"[number % 2]].publish(f"q{number}")
    page = (await apis.get("a", "/api/queues?page=2&page_size=2&name=[1-5]&use_regex=true")).json()
    assert [page[name] for name in ("total_count", "filtered_count", "page_count")] == [6, 5, 3]
    assert _names(page["items"]) == [("q3", "mqkit@b"), ("q4", "mqkit@a")]
    rows = (await apis.get("a", "/api/queues?sort=messages&columns=name")).json()
    assert rows == [{"name": f"q{number}"} for number in reversed(range(6))]
    by_node = (await apis.get("b", "/api/queues?sort=node&sort_reverse=true&columns=name")).json()
    assert [row["name"] for row in by_node] == ["q5", "q3", "q1", "q4", "q2", "q0"]
    plain = await apis.get("a", "/api/queues?disable_stats=true&enable_queue_totals=true")
    assert [row["messages"] for row in plain.json()] == [6, 5, 4, 3, 2, 1]
    assert {len(row) for row in plain.json()} == {12}


async def test_a_queue_is_shown_by_its_home() -> None:
    apis = PeerApis("a", "b")
    apis.declare("b", "q")
    client = _client(apis, "b", 4_711)
    client.send(1, BasicConsume("q", "tag"))
    client.publish("q")
    row = (await apis.get("a", "/api/queues/%2F/q")).json()
    assert (row["node"], row["messages"], row["consumers"]) == ("mqkit@b", 1, 1)
    assert [each["consumer_tag"] for each in row["consumer_details"]] == ["tag"]
    assert (await apis.get("a", "/api/queues/%2F/q?columns=name,node")).json() == {
        "name": "q",
        "node": "mqkit@b",
    }
    assert (await apis.get("a", "/api/queues/%2F/other")).status_code == 404


def _consume(apis: PeerApis, node: str, port: int) -> Callable[[], None]:
    """A client of the node consumes from ``q``, and its home knows of it, wherever that is. Returns
    how to cancel that."""
    client = _client(apis, node, port)
    client.send(1, BasicConsume("q", f"at {node}"))
    cancel = partial(client.send, 1, BasicCancel(f"at {node}"))
    if node == "b":
        return cancel
    number, taker = list(apis[node].homes["b"].takers.items())[-1]
    apis[node].lone.take(taker.attached)
    consumer = LoneConsumer(f"at {node}", attached_from=AttachedFrom(node, number))
    queue = apis["b"].broker.vhosts["/"].queues["q"]
    apis["b"].lone.take(lambda: queue.add_consumer(consumer))

    def cancel_elsewhere() -> None:
        cancel()
        apis["b"].lone.take(lambda: queue.remove_consumer(consumer))
        apis[node].lone.take(taker.detached)

    return cancel_elsewhere


async def test_the_consumers_of_a_queue_are_those_of_all_nodes_at_any() -> None:
    apis = PeerApis("a", "b", "c")
    apis.declare("b", "q")
    for number, node in enumerate("cba"):
        _consume(apis, node, 4_711 + number)
    for at in "abc":
        answer = await apis.get(at, "/api/queues/%2F/q")
        row = answer.json()
        assert (row["node"], row["consumers"]) == ("mqkit@b", 3)
        details = {
            each["consumer_tag"]: each["channel_details"]["node"]
            for each in row["consumer_details"]
        }
        assert details == {"at a": "mqkit@a", "at b": "mqkit@b", "at c": "mqkit@c"}
        assert len(row["consumer_details"]) == 3
        assert peers.UNREACHABLE not in answer.headers
        only = (await apis.get(at, "/api/queues/%2F/q?columns=name,consumer_details")).json()
        assert (list(only), len(only["consumer_details"])) == (["name", "consumer_details"], 3)
        short = (await apis.get(at, "/api/queues/%2F/q?columns=name&disable_stats=true")).json()
        assert short == {"name": "q"}
    apis.cut("a", "c")
    answer = await apis.get("a", "/api/queues/%2F/q")
    assert len(answer.json()["consumer_details"]) == 2
    assert answer.headers[peers.UNREACHABLE] == "mqkit@c"


SINGLE = {"x-single-active-consumer": True}
WAITING, ACTIVE = (False, "waiting"), (True, "single_active")


def _activities(rows: list[dict[str, Any]]) -> list[tuple[str, bool, str]]:
    return sorted((row["consumer_tag"], row["active"], row["activity_status"]) for row in rows)


async def _all_activities(apis: PeerApis, at: str) -> list[list[tuple[str, bool, str]]]:
    """The consumers as a node lists them, and shows them with their queue and their channels."""
    rows = (await apis.get(at, "/api/consumers")).json()
    row = (await apis.get(at, "/api/queues/%2F/q")).json()
    of_channels = [
        each
        for name in {each["channel_details"]["name"] for each in rows}
        for each in (await apis.get(at, f"/api/channels/{quote(name, safe='')}")).json()[
            "consumer_details"
        ]
    ]
    for each in (*rows, row, *row["consumer_details"], *of_channels):
        assert not [name for name in each if name.startswith("mqkit")]
    return [_activities(each) for each in (rows, row["consumer_details"], of_channels)]


async def test_the_single_active_consumer_is_shown_as_such_at_any_node() -> None:
    apis = PeerApis("a", "b", "c")
    apis.declare("b", "q", arguments=SINGLE)
    apis.declare("c", "other")
    tags = ["at c", "at a", "at b", "at a"]
    cancels = [_consume(apis, tag[-1], 1 + port) for port, tag in enumerate(tags)]
    for number, cancel in enumerate(cancels):
        waiting = [(tag, *WAITING) for tag in tags[number + 1 :]]
        expected = sorted([(tags[number], *ACTIVE), *waiting])
        for at in "abc":
            assert await _all_activities(apis, at) == [expected] * 3
        cancel()
    assert await _all_activities(apis, "a") == [[]] * 3


async def test_activity_may_be_a_column_and_sorted_by() -> None:
    apis = PeerApis("a", "b", "c")
    apis.declare("b", "q", arguments=SINGLE)
    for port, node in enumerate("ca"):
        _consume(apis, node, 1 + port)
    for at in "abc":
        rows = (await apis.get(at, "/api/consumers?columns=active,consumer_tag&sort=active")).json()
        assert rows == [
            {"active": False, "consumer_tag": "at a"},
            {"active": True, "consumer_tag": "at c"},
        ]
        only = (await apis.get(at, "/api/queues/%2F/q?columns=name,consumer_details")).json()
        assert [each["active"] for each in only["consumer_details"]].count(True) == 1
        assert list(only) == ["name", "consumer_details"]
        assert (await apis.get(at, "/api/queues/%2F/q?columns=name")).json() == {"name": "q"}


async def test_a_home_that_is_cut_off_says_of_nobody_that_it_is_the_active_one() -> None:
    apis = PeerApis("a", "b", "c")
    apis.declare("b", "q", arguments=SINGLE)
    for port, node in enumerate("ca"):
        _consume(apis, node, 1 + port)
    apis.cut("a", "b")
    answer = await apis.get("a", "/api/consumers")
    assert _activities(answer.json()) == [("at a", *WAITING), ("at c", *WAITING)]
    assert answer.headers[peers.UNREACHABLE] == "mqkit@b"
    answer = await apis.get("c", "/api/consumers")
    assert _activities(answer.json()) == [("at a", *WAITING), ("at c", *ACTIVE)]


async def test_queues_of_a_home_without_a_link_are_down_and_the_answer_says_so() -> None:
    apis = PeerApis("a", "b", "c")
    for home in "abc":
        apis.declare(home, f"q{home}")
    apis.cut("a", "b")
    apis["a"].homes["b"].lose()
    answer = await apis.get("a", "/api/queues")
    assert [(row["name"], row["state"], "messages" in row) for row in answer.json()] == [
        ("qa", "running", True),
        ("qb", "down", False),
        ("qc", "running", True),
    ]
    assert answer.headers[peers.UNREACHABLE] == "mqkit@b"
    one = await apis.get("a", "/api/queues/%2F/qb")
    assert (one.status_code, one.json()["state"], one.json()["node"]) == (200, "down", "mqkit@b")
    assert one.headers[peers.UNREACHABLE] == "mqkit@b"
    plain = (await apis.get("a", "/api/queues?disable_stats=true&columns=name,state")).json()
    assert plain[1] == {"name": "qb", "state": "down"}


async def test_a_node_that_says_nothing_is_waited_for_for_a_second() -> None:
    apis = PeerApis("a", "b")
    apis.declare("b", "q")
    apis.net.nodes["b"].stands = True
    began = apis.net.now()
    answer = await apis.get("a", "/api/queues", is_patient=True)
    assert 0.9 < apis.net.now() - began < 1.2
    assert answer.headers[peers.UNREACHABLE] == "mqkit@b"
    assert _names(answer.json()) == [("q", "mqkit@b")]


async def test_a_list_that_is_too_long_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    apis = PeerApis("a", "b")
    for number in range(200):
        apis.declare("b", f"q{number:03}")
    monkeypatch.setattr(peers, "BODY_BYTES_MAX", 100_000)
    answer = await apis.get("a", "/api/queues")
    assert answer.headers[peers.CUT] == "mqkit@b"
    assert peers.UNREACHABLE not in answer.headers
    rows = answer.json()
    assert len(rows) == 200
    assert 0 < sum("messages" in row for row in rows) < 200


async def test_a_list_for_which_there_is_no_time_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    apis = PeerApis("a", "b")
    apis.declare("b", "q")
    monkeypatch.setattr(peer_requests, "ROWS_S", -1.0)
    answer = await apis.get("a", "/api/queues")
    assert answer.headers[peers.CUT] == "mqkit@b"
    assert answer.json()[0]["state"] == "running"


async def test_a_user_sees_what_the_user_may_see_on_every_node() -> None:
    apis = PeerApis("a", "b")
    for node in apis.nodes.values():
        node.add_user("u", "u", "management")
    apis.declare("b", "q")
    _client(apis, "b", 4_711)
    assert (await apis.get("a", "/api/queues", auth=("u", "u"))).json() == []
    assert (await apis.get("a", "/api/connections", auth=("u", "u"))).json() == []
    assert len((await apis.get("a", "/api/connections")).json()) == 1
    for node in apis.nodes.values():
        node.broker.access.set_permission("u", "/", Permission.of(".*", ".*", ".*"))
    (row,) = (await apis.get("a", "/api/queues", auth=("u", "u"))).json()
    assert row["messages"] == 0


# Clients


async def test_connections_channels_and_consumers_are_those_of_all_nodes() -> None:
    apis = PeerApis("a", "b")
    for node, port in (("a", 1_001), ("b", 1_002)):
        client = _client(apis, node, port)
        client.send(1, QueueDeclare(f"q{node}"), BasicConsume(f"q{node}", f"t{node}"))
    for at in "ab":
        rows = (await apis.get(at, "/api/connections")).json()
        assert [(row["node"], row["peer_port"]) for row in rows] == [
            ("mqkit@a", 1_001),
            ("mqkit@b", 1_002),
        ]
        for path in ("/api/channels", "/api/vhosts/%2F/channels"):
            channels = (await apis.get(at, path)).json()
            assert [row["node"] for row in channels] == ["mqkit@a", "mqkit@b"]
        consumers = (await apis.get(at, "/api/consumers")).json()
        assert [
            (row["consumer_tag"], row["queue"]["name"], row["channel_details"]["node"])
            for row in consumers
        ] == [("ta", "qa", "mqkit@a"), ("tb", "qb", "mqkit@b")]
        page = (await apis.get(at, "/api/connections?page=1&name=1002")).json()
        assert (page["total_count"], page["filtered_count"]) == (2, 1)
        of_user = (await apis.get(at, "/api/connections/username/guest")).json()
        assert _names(of_user) == _names(rows)


async def test_a_connection_and_its_channels_by_name_on_any_node() -> None:
    apis = PeerApis("a", "b", "c")
    _client(apis, "b", 1_002)
    (row,) = (await apis.get("a", "/api/connections")).json()
    path = f"/api/connections/{quote(row['name'], safe='')}"
    assert (await apis.get("a", path)).json()["node"] == "mqkit@b"
    channels = (await apis.get("a", path + "/channels")).json()
    assert [each["name"] for each in channels] == [f"{row['name']} (1)"]
    one = await apis.get("a", f"/api/channels/{quote(channels[0]['name'], safe='')}")
    assert (one.json()["node"], one.json()["number"]) == ("mqkit@b", 1)
    for nobody in ("/api/connections/x", "/api/connections/x/channels", "/api/channels/x"):
        answer = await apis.get("a", nobody)
        assert answer.status_code == 404
        assert answer.json() == {"error": "Object Not Found", "reason": "Not Found"}
    apis.cut("a", "c")
    answer = await apis.get("a", "/api/connections/x")
    assert answer.headers[peers.UNREACHABLE] == "mqkit@c"


async def test_a_connection_is_closed_at_any_node() -> None:
    apis = PeerApis("a", "b")
    client, other = _client(apis, "b", 1_002), _client(apis, "b", 1_003)
    name = quote(str(client.connection.peer), safe="")
    headers = {"X-Reason": "because é".encode()}
    answer = await apis.request("a", "DELETE", f"/api/connections/{name}", headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    (close,) = client.methods()
    assert isinstance(close, ConnectionClose)
    assert close.reply_text == "CONNECTION_FORCED - because é"
    assert other.methods() == []
    answer = await apis.request("a", "DELETE", "/api/connections/username/guest")
    assert answer.status_code == 204
    assert [type(each) for each in other.methods()] == [ConnectionClose]


async def test_nobody_closes_the_connection_of_another_user_through_another_node() -> None:
    apis = PeerApis("a", "b")
    for node in apis.nodes.values():
        node.add_user("u", "u", "management")
    client = _client(apis, "b", 1_002)
    path = f"/api/connections/{quote(str(client.connection.peer), safe='')}"
    answer = await apis.request("a", "DELETE", path, auth=("u", "u"))
    assert answer.status_code == 401
    assert client.methods() == []


# The whole


async def test_the_nodes_are_all_members() -> None:
    apis = PeerApis("a", "b", "c")
    rows = (await apis.get("b", "/api/nodes")).json()
    assert [(row["name"], row["running"]) for row in rows] == [
        (name, True) for name in NODES.values()
    ]
    assert all("mem_used" in row for row in rows)
    links = [[link["name"] for link in row["cluster_links"]] for row in rows]
    assert links == [["mqkit@b", "mqkit@c"], ["mqkit@a", "mqkit@c"], ["mqkit@a", "mqkit@b"]]
    assert set(rows[0]["cluster_links"][0]["stats"]) == {"send_bytes", "recv_bytes"}
    apis["b"].see_members("a", "b", "c", "d")
    apis.cut("b", "c")
    answer = await apis.get("b", "/api/nodes")
    assert [(row["name"], row["running"]) for row in answer.json()] == [
        ("mqkit@a", True),
        ("mqkit@b", True),
        ("mqkit@c", False),
        ("mqkit@d", False),
    ]
    assert answer.headers[peers.UNREACHABLE] == "mqkit@c"
    assert (await apis.get("b", "/api/nodes/mqkit@a")).json()["mem_used"] > 0
    down = await apis.get("b", "/api/nodes/mqkit@d")
    assert down.json() == {"name": "mqkit@d", "type": "disc", "running": False}
    assert (await apis.get("b", "/api/nodes/mqkit@e")).status_code == 404
    reset = await apis.request("b", "DELETE", "/api/reset/mqkit@a")
    assert reset.status_code == 204
    assert (await apis.request("b", "DELETE", "/api/reset/mqkit@e")).status_code == 404


async def test_the_overview_is_of_all_nodes() -> None:
    apis = PeerApis("a", "b")
    apis.declare("a", "qa")
    apis.declare("b", "qb")
    clients = {node: _client(apis, node, port) for node, port in (("a", 1), ("b", 2))}
    for _ in range(2):
        clients["a"].publish("qa")
    for _ in range(3):
        clients["b"].publish("qb")
    clients["b"].send(1, BasicConsume("qb", "t", no_ack=True))
    for at in "ab":
        row = (await apis.get(at, "/api/overview")).json()
        assert row["unreachable"] == []
        assert row["node"] == NODES[at]
        assert row["object_totals"] == {
            "connections": 2,
            "channels": 2,
            "consumers": 1,
            "exchanges": 7,
            "queues": 2,
        }
        assert row["queue_totals"]["messages"] == 2
        assert row["message_stats"]["publish"] == 5
        assert row["message_stats"]["deliver_no_ack"] == 3
        assert row["churn_rates"]["connection_created"] == 2
    some = (await apis.get("a", "/api/overview?columns=object_totals.connections")).json()
    assert some == {"object_totals": {"connections": 2}}
    apis.cut("a", "b")
    row = (await apis.get("a", "/api/overview?disable_stats=true")).json()
    assert row["unreachable"] == ["mqkit@b"]
    assert row["object_totals"]["connections"] == 1


async def test_the_status_of_the_cluster() -> None:
    apis = PeerApis("a", "b", "c")
    a = apis["a"]
    a.see_members("a", "b", "c", "d")
    a.mesh_node.view.reach(17)
    a.mesh_node.see("c", state=NodeState.DRAINING)
    apis.cut("a", "b")
    row = (await apis.get("a", "/api/cluster/status")).json()
    assert (row["cluster"], row["node"], row["revision"]) == ("prod", "mqkit@a", 17)
    assert [(each["name"], each["state"], each["running"]) for each in row["members"]] == [
        ("mqkit@a", "running", True),
        ("mqkit@b", "unreachable", False),
        ("mqkit@c", "draining", True),
        ("mqkit@d", "down", False),
    ]
    assert row["members"][1]["amqp"] == "b:5672"
    a.peers.count_queues({"d": 5})
    members = (await apis.get("a", "/api/cluster/status")).json()["members"]
    assert [each["queues"] for each in members] == [0, 0, 0, 5]
    assert row["unreachable"] == ["mqkit@b"]


async def test_a_node_that_is_paused_says_so_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    apis = PeerApis("a", "b")
    paused = replace(apis["a"].node(), running=False, paused_for="it is cut off")
    monkeypatch.setattr(apis["a"], "node", lambda: paused)
    members = (await apis.get("a", "/api/cluster/status")).json()["members"]
    assert [(each["state"], each["running"], each["reason"]) for each in members] == [
        ("paused", False, "it is cut off"),
        ("running", True, ""),
    ]


# What others may pass on


async def test_a_question_for_a_path_that_is_not_there_or_a_user_who_is_not() -> None:
    apis = PeerApis("a", "b")
    asked: dict[str, Any] = {
        "method": "GET", "path": "/api/nothing", "query": [], "user": "guest", "headers": {},
    }  # fmt: skip
    assert await apis.ask("a", "b", asked) == (
        404,
        {"error": "Object Not Found", "reason": "Not Found"},
    )
    asked |= {"path": "/api/overview", "user": "nobody"}
    assert (await apis.ask("a", "b", asked))[0] == 401
    asked |= {"user": "remote"}
    assert (await apis.ask("a", "b", asked))[1]["reason"] == "Not management user"
    asked |= {"user": "guest"}
    status, row = await apis.ask("a", "b", asked)
    assert (status, row["node"], "unreachable" in row) == (200, "mqkit@b", False)
    assert json.dumps(row)


async def test_virtual_hosts_have_the_sums_of_all_nodes() -> None:
    apis = PeerApis("a", "b")
    for home, count in (("a", 2), ("b", 3)):
        apis.declare(home, f"q{home}")
        client = _client(apis, home, count)
        for _ in range(count):
            client.publish(f"q{home}")
    for at in "ab":
        (row,) = (await apis.get(at, "/api/vhosts")).json()
        assert (row["messages"], row["message_stats"]["publish"]) == (5, 5)
        assert row["cluster_state"] == {"mqkit@a": "running", "mqkit@b": "running"}
        one = (await apis.get(at, "/api/vhosts/%2F")).json()
        assert {**one, "recv_oct": 0, "send_oct": 0} == {**row, "recv_oct": 0, "send_oct": 0}
    assert (await apis.get("a", "/api/vhosts?sort=messages&columns=name,messages")).json() == [
        {"name": "/", "messages": 5}
    ]
    assert (await apis.get("a", "/api/vhosts/none")).status_code == 404
    apis.cut("a", "b")
    answer = await apis.get("a", "/api/vhosts/%2F")
    assert (answer.json()["messages"], answer.headers[peers.UNREACHABLE]) == (2, "mqkit@b")


async def test_alarms_are_those_of_all_nodes_and_local_ones_this_nodes() -> None:
    apis = PeerApis("a", "b", "c")
    apis["c"].broker.alarms.hold(Alarm.DISK)
    apis["b"].broker.alarms.hold(Alarm.MEMORY)
    apis.net.settle()
    disk = {"node": "mqkit@c", "resource": "disk space"}
    memory = {"node": "mqkit@b", "resource": "memory"}
    for at, expected in {"a": [memory, disk], "b": [memory, disk], "c": [disk, memory]}.items():
        answer = await apis.get(at, "/api/health/checks/alarms")
        assert (answer.status_code, answer.json()["alarms"]) == (503, expected)
        rows = (await apis.get(at, "/api/nodes")).json()
        assert [(row["mem_alarm"], row["disk_free_alarm"]) for row in rows] == [
            (False, False),
            (True, False),
            (False, True),
        ]
    for path in ("/api/health/checks/local-alarms", "/api/healthchecks/node"):
        assert [(await apis.get(at, path)).status_code for at in "abc"] == [200, 503, 503]
    refused = await apis.request(
        "a",
        "POST",
        "/api/exchanges/%2F/amq.default/publish",
        json={"routing_key": "q", "payload": "x", "payload_encoding": "string", "properties": {}},
    )
    assert (refused.status_code, refused.json()["reason"]) == (503, "low on disk & memory")
    apis["c"].broker.alarms.release(Alarm.DISK)
    apis.cut("a", "b")
    apis.net.settle()
    assert (await apis.get("a", "/api/health/checks/alarms")).status_code == 200
    assert (await apis.get("c", "/api/health/checks/alarms")).json()["alarms"] == [memory]
