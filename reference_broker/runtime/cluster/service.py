"""A node of a cluster on the network: the client of etcd, the node, its links and their sockets."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from reference_broker.cluster.isolation import PATIENCE_S
from reference_broker.cluster.isolation_watch import IsolationWatch
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.membership.forgetting import Forgetting
from reference_broker.cluster.membership.joining import Applicant, Brought, FolderMark, Joined
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.membership.seen_metadata import SeenMetadata
from reference_broker.cluster.mesh import LaneUser, Mesh
from reference_broker.cluster.metadata.feed import Works
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.cluster.metadata.proposal import SeenProposal
from reference_broker.cluster.node import ClusterNode
from reference_broker.cluster.questions.peers import Peers
from reference_broker.core.base.deadlines import Deadline
from reference_broker.core.work.budget import Budget
from reference_broker.errors import BadConfiguration, ClusterRefused
from reference_broker.runtime.cluster.heartbeat_thread import HeartbeatThread
from reference_broker.runtime.cluster.link_listener import LinkListener
from reference_broker.runtime.cluster.link_sockets import LinkSockets, Step
from reference_broker.runtime.cluster.tls import LinkTls
from reference_broker.runtime.etcd.config import EtcdConfig
from reference_broker.runtime.etcd.coordinator import EtcdCoordinator
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.process.loop_beat import LoopBeat
from reference_broker.runtime.process.paced_log import PacedLog

WAITS_EVERY_S = 30.0
"""Seconds between two lines about an etcd that is waited for, at least: each attempt has one."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """The cluster that a node joins, and the addresses that it has there. ``listen`` is for links,
    to which others connect at ``advertise`` where that is another address; ``amqp`` and ``http``
    are what others are told of this node's clients."""

    cluster: str
    node: str
    etcd: EtcdConfig
    secret: Secret
    listen: Address
    advertise: Address | None = None
    tls: LinkTls | None = None
    amqp: str = ""
    http: str = ""


class ServiceHost(Protocol):
    """The broker's process, as its part in the cluster sees it."""

    @property
    def work(self) -> Works:
        """The broker's work that is left over."""
        ...

    @property
    def budget(self) -> Budget:
        """The budget of its turns."""
        ...

    def after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        """See :meth:`~reference_broker.core.broker.Broker.after`."""
        ...

    def as_input(self, step: Step) -> None:
        """Run ``step`` as an input of the core."""
        ...

    def now_wall_ms(self) -> int:
        """The wall clock."""
        ...

    def lanes(self, node: ClusterNode, look_at: Callable[[Link], None]) -> LaneUser | None:
        """The user of the lanes of the node's links, which ``look_at`` has written; ``None`` for a
        node without queues."""
        ...

    def made(self, node: ClusterNode, mesh: Mesh) -> None:
        """The node and its links are there, and have not begun: follow its view."""
        ...

    def durable_queues_of(self, node: str) -> int:
        """The number of durable queues that have ``node`` as their home, in this node's view."""
        ...

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """Have the mark in the data folder, and call ``marked`` when it is on disk."""
        ...

    def joined(self, joined: Joined) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        ...

    def loaded(self) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        ...

    def cut_off(self, reason: str) -> None:
        """See :class:`~reference_broker.cluster.isolation.IsolationOwner`."""
        ...

    def reached(self) -> None:
        """See :class:`~reference_broker.cluster.isolation.IsolationOwner`."""
        ...

    def left(self, reason: str) -> None:
        """The node is one of the cluster no longer: end the process, with an error."""
        ...


class ClusterService:
    """The node that ``config`` describes. Its data folder has the ``mark``, and has ``seen``
    metadata, if any, with the ``proposals`` of nodes; it was opened ``run`` times, its log ends at
    ``position``, and what is ``brought`` with it was a single node's. ``peers`` are the other
    nodes, as the management API asks them; ``coordinator`` asks etcd. A node that
    is cut off for ``patience_s`` has no clients."""

    node: ClusterNode
    mesh: Mesh
    peers: Peers
    coordinator: EtcdCoordinator

    def __init__(
        self,
        config: ClusterConfig,
        host: ServiceHost,
        *,
        mark: FolderMark | None,
        seen: SeenMetadata | None = None,
        proposals: Mapping[str, SeenProposal] = MappingProxyType({}),
        run: int,
        position: int,
        brought: Brought | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._config = config
        self._host = host
        self._mark = mark
        self._seen = seen
        self._proposals = proposals
        self._run = run
        self._position = position
        self._brought = brought
        self._patience_s = patience_s
        self._waits = PacedLog(_log.warning, time.monotonic, WAITS_EVERY_S)
        self._started: asyncio.Future[Joined] | None = None
        self._parts: _Parts | None = None
        self.link = ""
        """The address at which other nodes reach this one; set by :meth:`start`."""

    async def start(self) -> Joined:
        """Join the cluster, and return when the node may serve clients: at once, or when etcd is
        there. Call :meth:`stop` in any case. Raises :exc:`ClusterRefused` for a node that can't be
        one of the cluster, :exc:`BadConfiguration`, and ``OSError`` for an address that can't be
        had."""
        config, host = self._config, self._host
        self._started = asyncio.get_running_loop().create_future()
        self._parts = parts = _Parts(config, host)
        self.coordinator = parts.coordinator
        listening = parts.listener.listen(config.listen)
        self.link = str(config.advertise or listening)
        self.node = ClusterNode(
            parts.coordinator,
            self._applicant(),
            self.link,
            host.work,
            host.budget,
            host.after,
            self,
        )
        self.mesh = Mesh(
            config.secret,
            self.node.view,
            self.node.live_nodes,
            parts.sockets,
            parts.heartbeats,
            host.after,
            self.node,
            host.lanes(self.node, parts.sockets.look_at),
        )
        members = Members(self.report)
        self.node.view.follow(MEMBERS, members)
        forgetting = Forgetting(self.node, members.by_name, self.mesh.links, host.durable_queues_of)
        self.peers = Peers(
            config.cluster,
            config.node,
            self.node.view,
            self.node.live_nodes,
            members,
            self.mesh.links,
            self.mesh.asking,
            self.mesh.answers,
            forgetting,
        )
        self.node.relay.attach(self.mesh.asking, self.mesh.answers)
        self._isolation = IsolationWatch(
            lambda: self.node.etcd_answered_at,
            members,
            self.mesh,
            parts.sockets,
            host.after,
            host,
            self._patience_s,
        )
        parts.sockets.attach(self.mesh.accepted, self.mesh.flush)
        self.node.view.listen(parts.sockets.flush_later)
        host.made(self.node, self.mesh)
        host.as_input(self.node.start)
        return await self._started

    async def stop(self) -> None:
        """Leave: give the lease back, so that nobody waits for this node, end the links and close
        all sockets. Idempotent."""
        if self._parts is not None:
            if hasattr(self, "mesh"):
                self._isolation.end()
                self._host.as_input(self.node.close)
                self._host.as_input(lambda: self.mesh.close("the node is stopping"))
            await self._parts.close()

    def _applicant(self) -> Applicant:
        config = self._config
        return Applicant(
            cluster=config.cluster,
            node=config.node,
            secret_fingerprint=config.secret.fingerprint,
            run=self._run,
            start_id=uuid.uuid4().hex,
            position=self._position,
            amqp=config.amqp,
            http=config.http,
            mark=self._mark,
            new_id=uuid.uuid4().hex,
            new_disk_id=uuid.uuid4().hex,
            wall_ms=self._host.now_wall_ms(),
            brought=self._brought,
            seen=self._seen,
            proposals=self._proposals,
        )

    # The owner of the node

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        self._host.mark_folder(mark, marked)

    def joined(self, joined: Joined) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        self.mesh.begin(self._config.node, joined, self.link)
        self._host.joined(joined)

    def loaded(self) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        self._host.loaded()

    def serving(self, joined: Joined) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        self.mesh.serve()
        self._isolation.begin()
        assert self._parts is not None
        self._parts.sockets.flush_later()
        if self._started is not None and not self._started.done():
            self._started.set_result(joined)

    def refuse(self, error: Exception) -> None:
        """The node can't serve, for what is in its folder: leave, and have :meth:`start` raise."""
        self.node.close()
        if self._started is not None and not self._started.done():
            self._started.set_exception(error)

    def ended(self, reason: str) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        if self._started is not None and not self._started.done():
            self._started.set_exception(ClusterRefused(reason))
        else:
            self._host.left(reason)

    def waits(self, text: str) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        self._waits.line(text)

    def report(self, text: str) -> None:
        """See :class:`~reference_broker.cluster.node.NodeOwner`."""
        _log.warning("%s", text)


class _Parts:
    """The threads and sockets of a node. Make them in a running loop, and :meth:`close` them."""

    def __init__(self, config: ClusterConfig, host: ServiceHost) -> None:
        self._beat = LoopBeat(asyncio.get_running_loop().call_later)
        try:
            self.coordinator = EtcdCoordinator(config.etcd, host.as_input, self._beat)
        except BadConfiguration:
            self._beat.stop()
            raise
        self.sockets = LinkSockets(host.as_input, config.tls)
        self.heartbeats = HeartbeatThread(config.secret, host.as_input, self._beat, config.tls)
        takers = {Purpose.LINK: self.sockets.take, Purpose.HEARTBEATS: self.heartbeats.take}
        self.listener = LinkListener(takers, has_tls=config.tls is not None)

    async def close(self) -> None:
        """End them all: what was said to others is sent before. Idempotent."""
        self.listener.stop()
        await self.sockets.close()
        await self.heartbeats.close()
        await self.coordinator.close()
        self._beat.stop()
