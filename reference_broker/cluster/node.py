"""A node of a cluster: it joins, reads the metadata, shows that it is there, and serves.

    JOINING --joined--> LOADING --view is whole--> PREPARING --prepared--> APPEARING
       |                                                                       |
       |                                                       own live key seen
       |                                                                       v
       +--refused--> ENDED <------- another run of the node has joined ---- SERVING

While it is PREPARING its process gives queues their messages: nobody knows yet that it is there.
It serves clients only when its view has its own ``live/`` key: from then on every other node waits
for it before it says -ok (:mod:`~reference_broker.cluster.metadata.barrier`), and everything that
was agreed before is in its view.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from reference_broker.cluster.coordinator import Coordinator, Event, LeaseKeeper
from reference_broker.cluster.membership.application import Application
from reference_broker.cluster.membership.joining import Applicant, FolderMark, Joined
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.presence import LEASE_TTL_S, Presence
from reference_broker.cluster.membership.records import NodeState
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.feed import Feed, Works
from reference_broker.cluster.metadata.keys import LIVE, MEMBERS, cluster_prefix
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.pause import Timer
from reference_broker.cluster.relay import Relay
from reference_broker.core.base.transitions import TransitionTable
from reference_broker.core.work.budget import Budget


class NodeStage(Enum):
    """See the picture at the top of the module."""

    JOINING = auto()
    LOADING = auto()
    PREPARING = auto()
    APPEARING = auto()
    SERVING = auto()
    ENDED = auto()


class NodeEvent(Enum):
    """An event of the node's life."""

    JOINED = auto()
    LOADED = auto()
    PREPARED = auto()
    SEEN = auto()
    ENDED = auto()


NODE_TABLE = TransitionTable(
    {
        (NodeStage.JOINING, NodeEvent.JOINED): NodeStage.LOADING,
        (NodeStage.LOADING, NodeEvent.LOADED): NodeStage.PREPARING,
        (NodeStage.PREPARING, NodeEvent.PREPARED): NodeStage.APPEARING,
        (NodeStage.APPEARING, NodeEvent.SEEN): NodeStage.SERVING,
        **{(stage, NodeEvent.ENDED): NodeStage.ENDED for stage in NodeStage},
    }
)


class NodeOwner(Protocol):
    """The process around a node."""

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """See :class:`~reference_broker.cluster.membership.application.ApplicationOwner`."""
        ...

    def joined(self, joined: Joined) -> None:
        """The node is a member; it may have links with others from now on. Call
        :meth:`ClusterNode.load` when its view may be read, which may be now. Called once."""
        ...

    def loaded(self) -> None:
        """The view is whole. Make what is needed of it, and call :meth:`ClusterNode.prepared` then,
        which may be now. Changes can be proposed. Called once."""
        ...

    def serving(self, joined: Joined) -> None:
        """The node may serve clients from now on. Called once."""
        ...

    def ended(self, reason: str) -> None:
        """The node can't be one of the cluster, or is one no longer: say ``reason``, and end the
        process. Called once, and nothing after it."""
        ...

    def waits(self, text: str) -> None:
        """The reason for which the node waits, in one line. Called with each attempt."""
        ...

    def report(self, text: str) -> None:
        """Something that an operator should know, in one line."""
        ...


class ClusterNode:
    """The node that ``applicant`` describes; ``link`` is the address where other nodes reach it.
    Whoever makes something of the metadata follows :attr:`view`, before :meth:`start`."""

    def __init__(
        self,
        coordinator: Coordinator,
        applicant: Applicant,
        link: str,
        work: Works,
        budget: Budget,
        after: Timer,
        owner: NodeOwner,
    ) -> None:
        self.stage = NodeStage.JOINING
        self.name = applicant.node
        self.run = applicant.run
        self.view = View()
        self.barrier = Barrier(self.view)
        self.live_nodes = LiveNodes(applicant.node, self.barrier, owner.report)
        prefix = cluster_prefix(applicant.cluster)
        self.feed = Feed(
            coordinator, prefix, self.view, work, budget, after, owner.report, self._gone_back
        )
        self.relay = Relay(self.feed, after, owner.report)
        self.proposals = Proposals(
            coordinator,
            prefix,
            self.view,
            after,
            applicant.node,
            applicant.run,
            self.replaced,
            self._gone_back,
        )
        self._coordinator = coordinator
        self._applicant = applicant
        self._link = link
        self._after = after
        self._owner = owner
        self._application = Application(coordinator, applicant, after, self)
        self._joined: Joined | None = None
        self._presence: Presence | None = None
        self._lease: LeaseKeeper | None = None
        self._awaited_states: list[tuple[NodeState, Callable[[], None]]] = []
        self._strangers: dict[str, int] = {}
        """The revisions of nodes whose heartbeats come, and which are no members in this view."""
        self.view.follow(LIVE, self.live_nodes)
        self.view.follow(MEMBERS, self)
        self.view.listen(self.barrier.advance)

    def start(self) -> None:
        """Begin to join. To be called once."""
        self._application.begin()

    @property
    def etcd_answered_at(self) -> float:
        """The time of the last request for the node's lease that etcd has answered. Ask only once
        it is :meth:`prepared`."""
        assert self._lease is not None
        return self._lease.answered_at

    def close(self) -> None:
        """End: give the lease back, and ask nothing more of etcd. Idempotent."""
        self._end("the node is stopping")

    def _end(self, reason: str) -> bool:
        """Ask nothing more of etcd; false where it has ended already."""
        if self.stage is NodeStage.ENDED:
            return False
        self.stage = NODE_TABLE.after(self.stage, NodeEvent.ENDED)
        self._application.take_back()
        self.feed.close()
        self.relay.close()
        self.proposals.end(reason)
        if self._lease is not None:
            self._lease.release()
        return True

    # Joining (an ApplicationOwner)

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """Hand it on; a later attempt finds the folder marked."""
        self._owner.mark_folder(mark, marked)

    def joined(self, joined: Joined) -> None:
        """Have the owner be told: etcd has the node's row."""
        self.stage = NODE_TABLE.after(self.stage, NodeEvent.JOINED)
        self._joined = joined
        self._presence = Presence(
            self._applicant.node,
            joined.member,
            self._link,
            self.view,
            self.proposals,
            self._after,
            self,
        )
        self._owner.joined(joined)

    def load(self) -> None:
        """Read the metadata. To be called once, after the owner was told that the node has joined;
        a node that has ended does nothing."""
        if self.stage is NodeStage.LOADING:
            assert self._joined is not None
            self.view.revision.when_at(self._joined.member_revision, self._loaded)
            self.feed.start()

    def refused(self, reason: str) -> None:
        """The node can't join."""
        if self._end(reason):
            self._owner.ended(reason)

    def waits(self, reason: str) -> None:
        """Say why the node has not joined yet."""
        self._owner.waits(f"waiting for etcd: {reason}")

    # Appearing (a PresenceOwner)

    def _loaded(self) -> None:
        if self.stage is not NodeStage.LOADING:
            return
        if not self.view.revision_of(MEMBERS + self.name):
            self.forgotten()
            return
        self.stage = NODE_TABLE.after(self.stage, NodeEvent.LOADED)
        self.proposals.begin()
        self._owner.loaded()

    def prepared(self) -> None:
        """The process has made of the view what it needs: have others know that it is there. To be
        called once; a node that has ended does nothing."""
        if self.stage is NodeStage.ENDED:
            return
        self.stage = NODE_TABLE.after(self.stage, NodeEvent.PREPARED)
        assert self._presence is not None
        self._lease = self._coordinator.keep_lease(LEASE_TTL_S, self._presence)

    def present(self, revision: int) -> None:
        """The node's key was put: serve when the view has it."""
        if self.view.revision.value >= revision:
            self._seen()
        else:
            self.view.revision.when_at(revision, self._seen)

    def drain(self, state: NodeState, told: Callable[[], None]) -> None:
        """Have every node told that this one, which serves, is draining, or up again. ``told`` is
        called once, when this node's view has it; which may be now. Idempotent."""
        assert self._presence is not None
        self._awaited_states.append((state, told))
        self._presence.drain(state)
        self._look_at_state()

    def _look_at_state(self) -> None:
        live = self.live_nodes.by_name.get(self.name)
        for each in list(self._awaited_states):
            state, told = each
            if live is not None and live.state is state:
                self._awaited_states.remove(each)
                told()

    def _seen(self) -> None:
        is_there = self.view.revision_of(LIVE + self._applicant.node) > 0
        # A lost lease is followed by another, before or after that.
        if self.stage is NodeStage.APPEARING and is_there:
            self.stage = NODE_TABLE.after(self.stage, NodeEvent.SEEN)
            assert self._joined is not None
            self._owner.serving(self._joined)
        self._look_at_state()

    def replaced(self) -> None:
        """Another run of the node, or another disk under its name, has taken its place."""
        reason = f"another process has joined as {self._applicant.node!r}: this one was replaced"
        if self._end(reason):
            self._owner.ended(reason)

    def _gone_back(self, seen: int, found: int) -> None:
        """etcd lacks what this node has seen: to go on would be to take it all back."""
        reason = (
            f"etcd is at revision {found}, and this node has seen {seen}: it was restored from an"
            " older copy, or --etcd names another one. Nothing of the data folder is dropped; see"
            " `mqkit cluster restore-metadata`"
        )
        if self._end(reason):
            self._owner.ended(reason)

    def forgotten(self) -> None:
        """The cluster has forgotten the node, while nobody heard of it."""
        reason = f"the cluster has forgotten the node {self._applicant.node!r}: it is none of its"
        if self._end(reason):
            self._owner.ended(reason)

    # Others (a PeerListener)

    def report(self, text: str) -> None:
        """Hand it on."""
        self._owner.report(text)

    def heard(self, node: str, applied: int) -> None:
        """A heartbeat of ``node``, which serves clients, has come, or it has said that its view has
        risen: it has applied everything up to the revision ``applied``. One that is no member says
        nothing that counts: it was forgotten, or this view has not seen yet that it joined."""
        if not self.view.revision_of(MEMBERS + node):
            self._strangers[node] = applied
            return
        self.live_nodes.heard(node)
        self.barrier.applied(node, applied)
        self.relay.heard(node, applied)

    def unheard(self, node: str) -> None:
        """The link of ``node`` is down. Idempotent."""
        self._strangers.pop(node, None)
        self.live_nodes.unheard(node)
        self.relay.unheard(node)

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`, of ``members/`` keys: a
        node whose heartbeats have come already is a member by now."""
        node = event.key.removeprefix(MEMBERS)
        if event.value is not None and node in self._strangers:
            self.heard(node, self._strangers.pop(node))
