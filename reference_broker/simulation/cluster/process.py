"""A process of a simulated node: the real code of metadata, links and queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reference_broker.cluster.isolation_watch import IsolationWatch
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.membership.joining import Applicant, FolderMark, Joined
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.mesh import Mesh
from reference_broker.cluster.metadata.keys import MEMBERS, cluster_prefix
from reference_broker.cluster.node import ClusterNode, NodeStage
from reference_broker.simulation.cluster.copy import Copy, History
from reference_broker.simulation.cluster.folder import Folder
from reference_broker.simulation.cluster.heartbeat_thread import HeartbeatThread
from reference_broker.simulation.cluster.node_broker import NodeBroker
from reference_broker.simulation.cluster.sockets import Sockets
from reference_broker.simulation.etcd.inbox import Inbox

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.world import ClusterWorld

CLUSTER = "sim"
SECRET = Secret(b"the secret of the simulated cluster")

WALL_OFF_MAX_MS = 5_000
"""Most milliseconds by which the clock of a machine is wrong."""

MARKING_US = (100, 30_000)

BEAT_EVERY_US = 500_000
"""Microseconds between two beats of the loop."""


class NodeProcess:
    """A process of the node ``name``; :meth:`start` begins to join. ``end_reason`` says why it has
    ended itself."""

    def __init__(self, world: ClusterWorld, name: str, folder: Folder) -> None:
        self.name = name
        self.folder = folder
        folder.run += 1
        self.run = folder.run
        self.end_reason: str | None = None
        self.faults_reported: list[str] = []
        self.kill_hooks: list[Callable[[], None]] = []
        """Called when it is gone."""
        self.exclusive_ids: list[int] = []
        """Of the exclusive queues of its clients."""
        self._world = world
        self._clock = world.clock
        self.broker = NodeBroker(world.clock, world.message_random, self.run)
        self.coordinator = world.etcd.connect(name, self.broker.as_input)
        self.inbox = Inbox(world.clock, self.broker.as_input)
        self.wall_off_ms = world.random.randint(-WALL_OFF_MAX_MS, WALL_OFF_MAX_MS)
        self.node = ClusterNode(
            self.coordinator,
            self._applicant(),
            f"{name}:25672",
            self.broker.broker.work,
            self.broker.budget,
            self.broker.broker.after,
            self,
        )
        prefix = cluster_prefix(CLUSTER)
        history = History(world.etcd.server.record, prefix)
        self.copy = Copy(self.name, self.node.view, history, self.broker.broker)
        self.sockets = Sockets(world, self, self.inbox, Purpose.LINK)
        self.broker.attach(self.node, self.sockets.look_at)
        self.heartbeats = HeartbeatThread(world, self, SECRET)
        self.mesh = Mesh(
            SECRET,
            self.node.view,
            self.node.live_nodes,
            self.sockets,
            self.heartbeats,
            self.broker.broker.after,
            self.node,
            self.broker.queue_links,
        )
        self.mesh.alarms.attach(self.broker.broker.alarms)
        self.sockets.attach(self.mesh.accepted, self.mesh.flush)
        members = Members(self.report)
        self.node.view.follow(MEMBERS, members)
        self.isolation = IsolationWatch(
            lambda: self.node.etcd_answered_at,
            members,
            self.mesh,
            self.sockets,
            self.broker.broker.after,
            self,
        )
        self.node.view.listen(self.sockets.flush_later)
        self.beat_at = 0.0
        """The time at which the loop went round last, in seconds."""
        self.stands_since_us: int | None = None
        """The time since which its loop stands; ``None`` while it goes round."""
        self.goes_since_us = world.clock.now_us

    def _applicant(self) -> Applicant:
        world, folder = self._world, self.folder
        return Applicant(
            cluster=CLUSTER,
            node=self.name,
            secret_fingerprint="secret",
            run=self.run,
            start_id=f"{self.name}{self.run}.{world.random.getrandbits(30)}",
            position=0,
            amqp=f"{self.name}:5672",
            http=f"{self.name}:15672",
            mark=folder.mark,
            new_id=f"cluster of {self.name}{self.run}",
            new_disk_id=f"disk of {self.name}{self.run}",
            wall_ms=world.clock.wall_ms(),
        )

    def start(self) -> None:
        """Begin to join."""
        self.node.relay.attach(self.mesh.asking, self.mesh.answers)
        self._beat()
        self.inbox.tell(self.node.start)

    def _beat(self) -> None:
        self.beat_at = self.sockets.now()
        self.inbox.later(BEAT_EVERY_US, self._beat)

    @property
    def serves(self) -> bool:
        """True once clients may ask it."""
        return self.node.stage is NodeStage.SERVING

    @property
    def accepts(self) -> bool:
        """True while clients may connect to it."""
        return self.serves and not self.isolation.is_paused

    @property
    def is_gone(self) -> bool:
        """Killed, or ended by itself."""
        return self.inbox.closed

    def hears(self, other: str) -> bool:
        """True while the link with ``other``, which serves, is open."""
        link, heard = self.mesh.links.get(other), self.mesh.last_heard.get(other)
        if link is None:
            return False
        own = link.heartbeats.peer.applied_revision
        return max(own, 0 if heard is None else heard.report.applied_revision) > 0

    def sockets_for(self, purpose: Purpose) -> Sockets:
        """The sockets of the thread that has connections of that purpose."""
        return self.sockets if purpose is Purpose.LINK else self.heartbeats.sockets

    # Faults

    def kill(self) -> None:
        """Be gone from one moment to the next."""
        for queue_id in self.exclusive_ids:
            self._world.deletions.let_go(queue_id)
        self.inbox.close()
        self.broker.kill()
        self.coordinator.close()
        self.sockets.reset()
        self.heartbeats.kill()
        hooks, self.kill_hooks = self.kill_hooks, []
        for hook in hooks:
            hook()

    def pause(self) -> None:
        """Stand still, with all threads."""
        self.heartbeats.inbox.pause()
        self.stand()

    def stand(self) -> None:
        """Have the loop stand; the thread of heartbeats goes on."""
        self.inbox.pause()
        self.broker.inbox.pause()
        self.coordinator.pause()
        if self.stands_since_us is None:
            self.stands_since_us = self._clock.now_us

    def resume(self) -> None:
        """Go on."""
        self.heartbeats.inbox.resume()
        self.inbox.resume()
        self.broker.inbox.resume()
        self.coordinator.resume()
        if self.stands_since_us is not None:
            self.stands_since_us, self.goes_since_us = None, self._clock.now_us

    # The owner of a node

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """Mark the folder some time later."""

        def on_disk() -> None:
            self.folder.mark = mark
            marked()

        self.inbox.later(self._world.random.randint(*MARKING_US), on_disk)

    def joined(self, joined: Joined) -> None:
        """Have links."""
        self.broker.broker.ids.take_block(joined.id_block)
        self.mesh.begin(self.name, joined, f"{self.name}:25672")
        self.node.load()

    def loaded(self) -> None:
        """There is nothing that its view has to be made of."""
        self.node.prepared()

    def serving(self, joined: Joined) -> None:
        """Be asked by clients."""
        self.mesh.serve()
        self.isolation.begin()
        self._world.laws.serving(self, joined)

    def cut_off(self, reason: str) -> None:
        """Close what clients have connected."""
        self._world.laws.cut_off(self)
        self.broker.broker.dismiss(reason, done=lambda: None)

    def reached(self) -> None:
        """Clients may connect again."""
        self._world.counts["isolation, reached again"] += 1

    def ended(self, reason: str) -> None:
        """Be gone, by itself."""
        self.end_reason = reason
        self.kill()

    def waits(self, text: str) -> None:
        """Keep what an operator would read."""
        self.faults_reported.append(text)

    def report(self, text: str) -> None:
        """Keep what an operator would read."""
        self.faults_reported.append(text)
