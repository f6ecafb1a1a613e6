"""The thread of heartbeats of a simulated node: it goes on while the loop of the process stands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from reference_broker.cluster.heartbeat_links import (
    Heard,
    HeartbeatLinks,
    HeartbeatListener,
    Testimony,
)
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import Hello, LinkId, Purpose
from reference_broker.cluster.link.secret import Secret
from reference_broker.simulation.cluster.sockets import Sockets
from reference_broker.simulation.etcd.inbox import Inbox

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

_HANDING_US = (10, 20_000)
"""Microseconds from one thread to the other."""


class HeartbeatThread:
    """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""

    def __init__(self, world: ClusterWorld, process: NodeProcess, secret: Secret) -> None:
        self.inbox = Inbox(world.clock)
        self.sockets = Sockets(world, process, self.inbox, Purpose.HEARTBEATS)
        self._random = world.random
        self._process = process
        self._links = HeartbeatLinks(secret, self.sockets, self._testimony, self)
        self.sockets.attach(self._links.accepted)
        self._listener: HeartbeatListener | None = None
        self._report = Report()
        self._news: dict[LinkId, Heard | str] = {}

    def begin(self, hello: Hello, listener: HeartbeatListener) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        self._listener = listener
        self.inbox.later(0, partial(self._links.begin, hello))

    def say(self, report: Report) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        self._report = report

    def keep(self, link_id: LinkId, address: str) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        self.inbox.later(0, partial(self._links.keep, link_id, address))

    def end(self, link_id: LinkId, reason: str) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        self.inbox.later(0, partial(self._links.end, link_id, reason))

    def kill(self) -> None:
        """The process is gone."""
        self.inbox.close()
        self.sockets.reset()

    # On the thread

    def _testimony(self) -> Testimony:
        return Testimony(self._report, self._process.beat_at)

    def heard(self, link_id: LinkId, heard: Heard) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatListener`."""
        self._put(link_id, heard)

    def heartbeats_ended(self, link_id: LinkId, reason: str) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatListener`."""
        self._put(link_id, reason)

    def _put(self, link_id: LinkId, what: Heard | str) -> None:
        if not self._news:
            self._process.inbox.later(self._random.randint(*_HANDING_US), self._tell)
        self._news[link_id] = what

    def _tell(self) -> None:
        news, self._news = self._news, {}
        assert self._listener is not None
        for link_id, what in news.items():
            if isinstance(what, Heard):
                self._listener.heard(link_id, what)
            else:
                self._listener.heartbeats_ended(link_id, what)
