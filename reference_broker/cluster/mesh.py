"""The mesh: a link to every other node that is there.

Of two nodes the one whose name is lower dials. Where that fails, or the link ends, it dials again
after a pause, as long as the other node's ``live/`` key is there. What a node tells over a link is
how far its view is, at once and in each heartbeat; one that does not serve clients tells 0, and
nobody waits for it.

Each link has a second connection, for its heartbeats, which a thread sends
(:mod:`~reference_broker.cluster.heartbeat_links`). Until they come the link's own are the only
ones, and held to the same times; from then on its own only find a connection that is stuck alone.
Where one of the two connections ends, so does the other.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import partial
from typing import Protocol

from reference_broker.cluster.alarm_links import ALARMS, AlarmLinks
from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.heartbeat_links import Heard, HeartbeatKeeper
from reference_broker.cluster.link.greetings import Greetings
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import Hello, LinkId
from reference_broker.cluster.link.lane import OWNER_KINDS, Lane
from reference_broker.cluster.link.link import Link, Receiver
from reference_broker.cluster.link.link_counts import PastLinks
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.link.shell import LinkShell
from reference_broker.cluster.membership.joining import Joined
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.metadata.keys import LIVE, MEMBERS
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.pause import Pause, Timer
from reference_broker.cluster.questions.answering import Answering
from reference_broker.cluster.questions.answers import Answers
from reference_broker.cluster.questions.asking import Asking
from reference_broker.errors import LinkError

CLOCKS_APART_MS = 500
"""Milliseconds by which two nodes' wall clocks may differ without a word: by as much TTLs are off
after a failover."""

APPLIED = OWNER_KINDS
"""Control: the sender has applied everything up to a revision (u64)."""

_REVISION = struct.Struct(">Q")


class PeerListener(Protocol):
    """Whoever is told of the nodes that are heard (a cluster node is one)."""

    def heard(self, node: str, applied: int) -> None:
        """``node`` serves clients, and has applied everything up to the revision."""
        ...

    def unheard(self, node: str) -> None:
        """Nothing is heard of the node any more, or it does not serve. Idempotent."""
        ...

    def report(self, text: str) -> None:
        """Something that an operator should know, in one line."""
        ...


class LaneUser(Protocol):
    """Whoever the lanes beside control are for."""

    def link_open(self, link: Link) -> None:
        """There is a link with the node at its other end, and no other one."""
        ...

    def link_down(self, link: Link) -> None:
        """The link has ended, or a newer one takes its place at once. Idempotent."""
        ...

    def applied(self, link: Link, revision: int) -> None:
        """The node at the other end has applied everything up to ``revision``; it says so before
        anything that it sends because of that."""
        ...

    def receive(self, link: Link, lane: Lane, kind: int, payload: memoryview) -> None:
        """A message came: see :data:`~reference_broker.cluster.link.link.Receiver`."""
        ...

    def flush(self) -> None:
        """The turn ends: send what was put together in it."""
        ...


class NoLanes:
    """The user of lanes of nodes that have nothing but heartbeats and revisions for each other."""

    def link_open(self, link: Link) -> None:
        """Nothing is to be sent."""

    def link_down(self, link: Link) -> None:
        """Nothing was under way."""

    def applied(self, link: Link, revision: int) -> None:
        """Nobody waits for it."""

    def receive(self, link: Link, lane: Lane, kind: int, payload: memoryview) -> None:
        """Raises :exc:`LinkError`."""
        raise LinkError(f"kind {kind} in the lane {lane.name}, which this version does not know")

    def flush(self) -> None:
        """Nothing waits to be sent."""


class Mesh:
    """The links of one node, and the owner of each. :meth:`begin` has to follow once the node has
    joined, :meth:`flush` at the end of each turn in which anything has happened."""

    def __init__(
        self,
        secret: Secret,
        view: View,
        live_nodes: LiveNodes,
        shell: LinkShell,
        heartbeats: HeartbeatKeeper,
        after: Timer,
        listener: PeerListener,
        lanes: LaneUser | None = None,
    ) -> None:
        self._view = view
        self._live_nodes = live_nodes
        self._shell = shell
        self._heartbeats = heartbeats
        self._after = after
        self._listener = listener
        self._lanes = lanes or NoLanes()
        self._greetings = Greetings(secret, shell, self)
        self.past_links = PastLinks()
        self.answers = Answers()
        self.answering = Answering(shell)
        """The questions of the other nodes."""
        self.answering.answerer = self.answers
        self.alarms = AlarmLinks(shell)
        """The resource alarms of all nodes."""
        self._hello: Hello | None = None
        self._serves = False
        self._dialled = 0
        self._open: dict[str, Link] = {}
        self.asking = Asking(self._open, shell)
        """The questions of this node."""
        self._heard: dict[str, Heard] = {}
        """The last heartbeats, by the nodes of open links."""
        self._dialling: dict[str, Link] = {}
        self._addresses: dict[Link, str] = {}
        """The addresses of the links that this end has dialled."""
        self._pauses: dict[str, Pause] = {}
        self._announced = 0
        self._is_closed = False
        self._told: dict[str, str] = {}
        """The line that was last reported of each node."""
        self._clocks_told: dict[str, Link] = {}
        """The link over which a node's clock was reported, by node: once for each."""
        view.follow(LIVE, self)
        view.follow(MEMBERS, self)

    @property
    def links(self) -> Mapping[str, Link]:
        """The open links, by the names of the nodes at their other ends. Read only."""
        return self._open

    @property
    def last_heard(self) -> Mapping[str, Heard]:
        """The last heartbeat of each node whose link is whole. Read only."""
        return self._heard

    def begin(self, node: str, joined: Joined, address: str) -> None:
        """The node has joined: dial, and be dialled at ``address``."""
        member = joined.member
        self._hello = Hello(
            cluster=joined.cluster.id,
            node=node,
            number=member.number,
            disk=member.disk_id,
            run=member.run,
            connection=0,
            address=address,
        )
        self._greetings.begin(self._hello)
        self._heartbeats.begin(self._hello, self)
        for name in list(self._live_nodes.by_name):
            self._look_for(name)

    def serve(self) -> None:
        """The node serves clients from now on."""
        self._serves = True

    def accepted(self) -> Link | None:
        """The link for a socket that somebody has opened; ``None``: close it, nobody can be
        talked to yet."""
        return self._greetings.accept()

    def close(self, reason: str) -> None:
        """End every link, and dial no more. Idempotent."""
        self._is_closed = True
        for pause in self._pauses.values():
            pause.end()
        for link in [*self._open.values(), *self._dialling.values()]:
            self._end(link, reason)
        self._greetings.end(reason)

    def _end(self, link: Link, reason: str) -> None:
        link.end(reason)
        self._shell.look_at(link)

    def flush(self) -> None:
        """The turn ends. Every node is told how far the view is, if it has risen since it was told
        last, and then whatever follows from it."""
        applied = self._view.revision.value if self._serves else 0
        if applied != self._announced:
            self._announced = applied
            self._announce(applied)
        self._lanes.flush()

    def _announce(self, applied: int) -> None:
        self._heartbeats.say(Report(applied_revision=applied))
        for link in self._open.values():
            link.send(Lane.CONTROL, APPLIED, (_REVISION.pack(applied),))
            self._shell.look_at(link)

    # Dialling

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`: the ``live/`` keys, of
        which the live nodes know already, and the ``members/`` keys."""
        if event.key.startswith(LIVE):
            self._look_for(event.key.removeprefix(LIVE))
        elif event.value is None:
            link = self._open.get(event.key.removeprefix(MEMBERS))
            if link is not None:
                self._end(link, "the node was forgotten")

    def _look_for(self, node: str) -> None:
        """Dial the node, if it is there, is this one's to dial, and nobody does so already."""
        record = self._live_nodes.by_name.get(node)
        hello = self._hello
        if record is None or hello is None or self._is_closed or node <= hello.node:
            return
        if node in self._open or node in self._dialling:
            return
        self._dialled += 1
        link = self._greetings.dial(node, record.link, self._dialled)
        self._dialling[node] = link
        self._addresses[link] = record.link

    # The owner of a link

    def link_open(self, link: Link) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        node = link.peer.node
        self._greetings.over(link)
        self._dialling.pop(node, None)
        if node in self._pauses:
            self._pauses[node].end()
        before = self._open.get(node)
        self._open[node] = link
        self.alarms.link_open(link)
        self._heard.pop(node, None)
        self._heartbeats.keep(link.peer.link_id, self._addresses.get(link, ""))
        if before is not None:
            self.past_links.add(node, before.counts)
            self._lanes.link_down(before)
            self._end(before, "a newer connection has taken its place")
        if self._announced:
            link.send(Lane.CONTROL, APPLIED, (_REVISION.pack(self._announced),))
        self._lanes.link_open(link)

    def link_down(self, link: Link) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        self._greetings.over(link)
        self._addresses.pop(link, None)
        self.answering.link_down(link)
        self.alarms.link_down(link)
        for node in [name for name, each in self._dialling.items() if each is link]:
            del self._dialling[node]
            self._tell(node, f"no link with node {node!r}: {link.reason}")
            self._dial_later(node)
        for node in [name for name, each in self._open.items() if each is link]:
            del self._open[node]
            self.past_links.add(node, link.counts)
            self._lanes.link_down(link)
            was_whole = self._heard.pop(node, None) is not None
            what = "the link with node {} is down" if was_whole else "no link with node {}"
            self._tell(node, f"{what.format(repr(node))}: {link.reason}")
            self._heartbeats.end(link.peer.link_id, link.reason)
            self._listener.unheard(node)
            self._dial_later(node)

    def report_for(self, link: Link) -> Report:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        ahead_ms = self._shell.wall_ms() - round(self._shell.now() * 1_000)
        return Report(applied_revision=self._announced, wall_ahead_ms=ahead_ms)

    def _tell(self, node: str, line: str) -> None:
        """Report the line, unless it is the one that was last reported of the node."""
        if self._told.get(node) != line and not self._is_closed:
            self._told[node] = line
            self._listener.report(line)

    def _dial_later(self, node: str) -> None:
        pause = self._pauses.setdefault(node, Pause(self._after))
        pause.begin(partial(self._look_for, node))

    def asked(self, link: Link, token: int, question: memoryview) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        self.answering.asked(link, token, question)

    def receivers(self, link: Link) -> Mapping[Lane, Receiver]:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        return {lane: partial(self._receive, link, lane) for lane in Lane}

    def _receive(self, link: Link, lane: Lane, kind: int, payload: memoryview) -> None:
        if self._open.get(link.peer.node) is not link:
            return  # an older one, that is ending
        if lane is not Lane.CONTROL:
            self._lanes.receive(link, lane, kind, payload)
        elif kind == ALARMS:
            self.alarms.take(link, payload)
        elif kind != APPLIED or len(payload) != _REVISION.size:
            raise LinkError(f"control of kind {kind}, which this version does not know")
        else:
            revision = _REVISION.unpack(payload)[0]
            self._lanes.applied(link, revision)
            self._hear(link, revision)

    def heartbeat(self, link: Link) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        self._hear(link, link.heartbeats.peer.applied_revision)

    def _hear(self, link: Link, applied: int) -> None:
        node = link.peer.node
        if self._open.get(node) is not link:
            return  # an older one, that is ending
        if applied:
            self._listener.heard(node, applied)

    # What the heartbeats of links say

    def heard(self, link_id: LinkId, heard: Heard) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatListener`."""
        node = link_id.node
        link = self._open.get(node)
        if link is None or link.peer.link_id != link_id:
            return  # of one that has ended meanwhile
        if node not in self._heard:
            link.heartbeats.loosen()
            if node in self._pauses:
                self._pauses[node].reset()
            self._tell(node, f"linked with node {node!r}")
        self._heard[node] = heard
        self._hear(link, heard.report.applied_revision)
        self._compare_clocks(link, heard)

    def heartbeats_ended(self, link_id: LinkId, reason: str) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatListener`."""
        link = self._open.get(link_id.node)
        if link is not None and link.peer.link_id == link_id:
            self._end(link, f"its heartbeats: {reason}")

    def _compare_clocks(self, link: Link, heard: Heard) -> None:
        """Report a clock that is off by too much, once for each link."""
        node, apart_ms = link.peer.node, heard.apart_ms
        if apart_ms is None or self._clocks_told.get(node) is link:
            return
        if abs(apart_ms) > CLOCKS_APART_MS + heard.round_trip_s * 500:
            self._clocks_told[node] = link
            order = "ahead" if apart_ms > 0 else "behind"
            self._listener.report(
                f"the clock of node {node!r} is {abs(apart_ms) / 1_000:.1f} s {order}: a message's"
                " time to live is off by as much at one of the two; set both by NTP"
            )
