"""Nodes whose management APIs are joined by links in memory, each with a broker of its own.

    apis = PeerApis("a", "b")
    apis.declare("b", "q")
    answer = await apis.get("a", "/api/queues")
    assert answer.json()[0]["node"] == "mqkit@b"

Definitions are not shared: :meth:`PeerApis.declare` makes a queue at its home, and its stand-in on
the others, whose home is a :class:`~reference_broker.testing.homes.scripted_home.ScriptedHome`. The
links have the virtual time of a :class:`~reference_broker.testing.mesh_net.MeshNet`, which passes
while somebody is ``patient``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from starlette.applications import Starlette

from reference_broker.cluster.coordinator import Event, Won
from reference_broker.cluster.membership.forgetting import Forgetting
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.membership.records import MemberRecord, encoded
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.questions.asking import Gathered
from reference_broker.cluster.questions.peers import Peers
from reference_broker.core.access.users import User, hash_password
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.http import Node, build_app
from reference_broker.http.request.answer import Row
from reference_broker.http.request.peers import KIND
from reference_broker.testing.apis.asgi_client import AsgiAnswer, asgi_request
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.mesh_net import STEP_S, MeshNet, MeshNode
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

LOGIN = ("guest", "guest")


class PeerApi:
    """The node ``name``, and the :class:`~reference_broker.http.Host` of its API. ``homes`` are
    those of queues elsewhere, by node; ``etcd`` answers what it proposes when a test says so."""

    def __init__(self, name: str, mesh_node: MeshNode) -> None:
        self.name = name
        self.mesh_node = mesh_node
        self.lone = LoneBroker()
        self.broker = self.lone.broker
        self.add_user(*LOGIN, "administrator")
        self.homes: dict[str, ScriptedHome] = {}
        self.etcd = ScriptedCoordinator()
        self.reports: list[str] = []
        members = Members(self.reports.append)
        mesh_node.view.follow(MEMBERS, members)
        mesh = mesh_node.mesh
        self.view, self.live_nodes = mesh_node.view, mesh_node.live_nodes
        self.proposals = Proposals(
            self.etcd,
            "",
            self.view,
            mesh_node.net.clock.after,
            name,
            1,
            lambda: None,
            lambda *_: None,
        )
        self.proposals.begin()
        self.etcd.answer(Won(1))
        mesh.alarms.attach(self.broker.alarms)
        self.peers = Peers(
            "prod",
            name,
            mesh_node.view,
            mesh_node.live_nodes,
            members,
            mesh.links,
            mesh.asking,
            mesh.answers,
            Forgetting(self, members.by_name, mesh.links, self._durable_queues_of),
        )
        self.app: Starlette = build_app(self, peers=self.peers)

    def add_user(self, name: str, password: str, *tags: str) -> None:
        """Have such a user, or another one of that name."""
        self.broker.users.add(User(name, hash_password(password.encode(), b"salt"), tags))

    def see_members(self, *names: str) -> None:
        """Its view has the ``members/`` keys of these nodes."""
        for number, name in enumerate(names, start=1):
            record = MemberRecord(number, f"d{number}", 1, "s", 0, f"{name}:5672", f"{name}:15672")
            list(self.mesh_node.view.take([Event(MEMBERS + name, encoded(record), 8)]))

    def _durable_queues_of(self, node: str) -> int:
        home = self.homes.get(node)
        queues = self.broker.vhosts["/"].queues.values()
        return sum(isinstance(each, RemoteQueue) and each.home is home for each in queues)

    # The host

    def now(self) -> tuple[float, int]:
        return self.lone.now_s, self.lone.wall_ms

    def input_handled(self) -> None:
        asyncio.get_running_loop().call_soon(self._turn_ends)

    def _turn_ends(self) -> None:
        self.lone.complete()
        self.lone.sync()

    def node(self) -> Node:
        return Node(f"mqkit@{self.name}", 0, None, 0, ())


class PeerApis:
    """The nodes ``names``, which are linked."""

    def __init__(self, *names: str) -> None:
        self.net = MeshNet(*names)
        self.nodes = {name: PeerApi(name, self.net.nodes[name]) for name in names}
        self.net.linked()
        for node in self.nodes.values():
            node.see_members(*names)
        self._queues = 0

    def __getitem__(self, name: str) -> PeerApi:
        return self.nodes[name]

    def declare(
        self,
        home: str,
        name: str,
        *,
        durable: bool = True,
        arguments: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Have a queue in ``/``, with that home."""
        self._queues += 1
        definition = QueueDefinition(1_000 + self._queues, name, False, dict(arguments), durable)
        for node in self.nodes.values():
            vhost = node.broker.vhosts["/"]
            if node.name == home:
                node.lone.take(
                    lambda vhost=vhost: vhost.declare_queue(  # type: ignore[misc]
                        name, durable=durable, arguments=dict(arguments)
                    )
                )
            else:
                vhost.enter_queue(definition, node.homes.setdefault(home, ScriptedHome(home)))

    def cut(self, name: str, other: str) -> None:
        """Have the link between two nodes be lost; it does not come back before time passes."""
        for node, peer in ((name, other), (other, name)):
            self.net.nodes[node].mesh.links[peer].lost("cut")

    async def get(self, at: str, path: str, **more: Any) -> AsgiAnswer:
        """The answer of that node."""
        return await self.request(at, "GET", path, **more)

    async def request(
        self, at: str, method: str, path: str, *, is_patient: bool = False, **more: Any
    ) -> AsgiAnswer:
        """The answer of that node, with bytes going to and fro until it is there. Time passes on
        the links only while ``is_patient``."""
        more.setdefault("auth", LOGIN)
        asking = asyncio.create_task(asgi_request(self.nodes[at].app, method, path, **more))
        try:
            while not asking.done():
                await asyncio.sleep(0)
                self.net.settle()
                if is_patient:
                    self.net.pass_time(STEP_S)
        finally:
            asking.cancel()
        return await asking

    async def ask(self, asking: str, asked: str, arguments: Row) -> tuple[int, Row]:
        """The status and the JSON with which ``asked`` answers a request that ``asking`` passes
        on."""
        status, body = await self._answer(asking, asked, arguments)
        row: Row = json.loads(body)
        return status, row

    async def ask_for_rows(self, asking: str, asked: str, arguments: Row) -> list[Row]:
        """The rows with which ``asked`` answers a request for a list that ``asking`` passes on."""
        _, body = await self._answer(asking, asked, arguments)
        return [json.loads(line) for line in body.splitlines()]

    async def _answer(self, asking: str, asked: str, arguments: Row) -> tuple[int, bytes]:
        found: list[Gathered] = []
        self.nodes[asking].peers.ask([asked], KIND, arguments, found.append)
        while not found:
            await asyncio.sleep(0)
            self.net.settle()
        answer = found[0].answers[asked]
        return answer.head["status"], bytes(answer.body)
