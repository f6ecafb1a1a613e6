"""The heartbeats of a node's links, each on a connection of its own beside the link.

All of this runs on a thread, beside the node's event loop: a turn of the loop that takes long is
not the death of the node. The loop hands over what is to be said, and which links there are; it is
told what was heard, and which heartbeats have ended.

[T] Nor may the thread vouch for a loop that hangs, or it would keep a dead leader in office: it
says nothing while the loop stands, by the same mark and after the same time as the lease
(:mod:`~reference_broker.cluster.lease`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from reference_broker.cluster.lease import STANDING_S
from reference_broker.cluster.link.greetings import Greetings
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import Hello, LinkId, Purpose
from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link, Receiver
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.link.shell import LinkShell
from reference_broker.errors import LinkError


class Heard(NamedTuple):
    """The last heartbeat of a peer. ``apart_ms`` is its wall clock less this node's, in
    milliseconds, give or take half of ``round_trip_s``; ``None`` while that is not known."""

    report: Report
    apart_ms: float | None
    round_trip_s: float


class HeartbeatListener(Protocol):
    """Whoever is told what heartbeats say (the mesh is one), in later inputs of the loop."""

    def heard(self, link_id: LinkId, heard: Heard) -> None:
        """A heartbeat has come. Of several that came while the loop stood only the last is
        told."""
        ...

    def heartbeats_ended(self, link_id: LinkId, reason: str) -> None:
        """No more come, and the link is to be ended."""
        ...


class HeartbeatKeeper(Protocol):
    """The thread of heartbeats, as the loop sees it."""

    def begin(self, hello: Hello, listener: HeartbeatListener) -> None:
        """The node has joined, and introduces itself by ``hello``. To be called once, before all
        else."""
        ...

    def say(self, report: Report) -> None:
        """From now on heartbeats tell ``report``, each with the clock of its own time."""
        ...

    def keep(self, link_id: LinkId, address: str) -> None:
        """The link is open: dial the peer's ``address``, or, where that is empty, be dialled. An
        older link with the peer is over."""
        ...

    def end(self, link_id: LinkId, reason: str) -> None:
        """The link has ended, for ``reason``: the listener is told nothing more of it.
        Idempotent."""
        ...


class Testimony(NamedTuple):
    """All that the loop has handed over: what to tell, and when it went round last."""

    report: Report
    beat_at: float


class HeartbeatLinks:
    """The connections of heartbeats of one node, and the owner of each. ``testimony`` gives the
    latest one. The listener is called from within, on the thread: hand it on."""

    def __init__(
        self,
        secret: Secret,
        shell: LinkShell,
        testimony: Callable[[], Testimony],
        listener: HeartbeatListener,
    ) -> None:
        self._shell = shell
        self._testimony = testimony
        self._listener = listener
        self._greetings = Greetings(secret, shell, self)
        self._kept: dict[str, LinkId] = {}
        """The link with each node, by its name."""
        self._carried: dict[str, Link] = {}
        """The connection of heartbeats for it, if there is one already."""

    def begin(self, hello: Hello) -> None:
        """See :class:`HeartbeatKeeper`."""
        self._greetings.begin(hello._replace(purpose=Purpose.HEARTBEATS))

    def keep(self, link_id: LinkId, address: str) -> None:
        """See :class:`HeartbeatKeeper`."""
        self._drop(link_id.node, "a newer link has taken the place of theirs")
        self._kept[link_id.node] = link_id
        if address:
            link = self._greetings.dial(link_id.node, address, link_id.connection)
            self._carried[link_id.node] = link

    def end(self, link_id: LinkId, reason: str) -> None:
        """See :class:`HeartbeatKeeper`."""
        if self._kept.get(link_id.node) == link_id:
            self._drop(link_id.node, reason)

    def accepted(self) -> Link | None:
        """The link for a socket that somebody has opened; ``None``: close it."""
        return self._greetings.accept()

    def close(self, reason: str) -> None:
        """End all, and accept no more. Idempotent."""
        for node in list(self._kept):
            self._drop(node, reason)
        self._greetings.end(reason)

    def _drop(self, node: str, reason: str) -> None:
        self._kept.pop(node, None)
        link = self._carried.pop(node, None)
        if link is not None:
            link.end(reason)
            self._shell.look_at(link)

    # The owner of a link

    def link_open(self, link: Link) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        self._greetings.over(link)
        peer = link.peer
        if self._kept.get(peer.node) != peer.link_id:
            link.end(f"heartbeats for connection {peer.connection} with node {peer.node!r}, which"
                     " is no link here")  # fmt: skip
        else:
            self._carried[peer.node] = link

    def link_down(self, link: Link) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        self._greetings.over(link)
        for node in [name for name, each in self._carried.items() if each is link]:
            del self._carried[node]
            self._listener.heartbeats_ended(self._kept.pop(node), link.reason)

    def heartbeat(self, link: Link) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        node = link.peer.node
        if self._carried.get(node) is not link:
            return
        beats, apart_ms = link.heartbeats, None
        if beats.answered_at:
            apart_ms = beats.peer_wall_ms(self._shell.now()) - self._shell.wall_ms()
        self._listener.heard(self._kept[node], Heard(beats.peer, apart_ms, beats.round_trip_s))

    def report_for(self, link: Link) -> Report | None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`: nothing while the loop
        stands."""
        now = self._shell.now()
        report, beat_at = self._testimony()
        if now - beat_at > STANDING_S:
            return None
        return report._replace(wall_ahead_ms=self._shell.wall_ms() - round(now * 1_000))

    def asked(self, link: Link, token: int, question: memoryview) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        raise AssertionError("a connection of heartbeats takes no frame of a question")

    def receivers(self, link: Link) -> Mapping[Lane, Receiver]:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`."""
        return {Lane.CONTROL: _refuse}


def _refuse(kind: int, payload: memoryview) -> None:
    raise LinkError(f"control of kind {kind}, and only heartbeats may come on this connection")
