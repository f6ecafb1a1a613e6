"""The sockets of a simulated process: the bytes of its links, by connections of the network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from reference_broker.cluster.link.hello import NONCE_BYTES, Purpose
from reference_broker.cluster.link.link import Link
from reference_broker.simulation.cluster.cable import Connection
from reference_broker.simulation.etcd.inbox import Inbox

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

CONNECT_TIMEOUT_US = 3_000_000
"""Microseconds after which a connection that nobody answers is given up."""

US_PER_S = 1_000_000


class Sockets:
    """The sockets of one purpose, of a thread whose ``inbox`` is told what comes: the shell of
    whoever owns the links (:class:`~reference_broker.cluster.link.shell.LinkShell`)."""

    def __init__(
        self, world: ClusterWorld, process: NodeProcess, inbox: Inbox, purpose: Purpose
    ) -> None:
        self._world = world
        self._process = process
        self._inbox = inbox
        self._purpose = purpose
        self._accept: Callable[[], Link | None] = _nobody
        self._turn_ends: Callable[[], None] = _nothing
        self._connections: dict[Link, Connection] = {}
        self._due_us: dict[Link, int] = {}
        self._looked_at: dict[Link, None] = {}
        self._is_flushing = False

    def attach(
        self, accept: Callable[[], Link | None], turn_ends: Callable[[], None] | None = None
    ) -> None:
        """See :meth:`~reference_broker.runtime.cluster.link_sockets.LinkSockets.attach`."""
        self._accept = accept
        self._turn_ends = turn_ends or _nothing

    def now(self) -> float:
        """The time, in seconds."""
        return self._world.clock.now_us / US_PER_S

    def wall_ms(self) -> int:
        """The wall clock of the node's machine, which is off by some seconds."""
        return self._world.clock.wall_ms() + self._process.wall_off_ms

    def nonce(self) -> bytes:
        """Octets that the seed gives."""
        return self._world.random.randbytes(NONCE_BYTES)

    def dial(self, address: str, link: Link) -> None:
        """Connect to the node that listens there: it is refused where no process is, and given up
        where nothing passes."""
        node = address.partition(":")[0]
        self._inbox.later(self._world.cables.latency_us(), partial(self._connect, node, link))

    def _connect(self, node: str, link: Link) -> None:
        world, own = self._world, self._process.name
        if world.cables.is_cut(own, node) or world.cables.is_cut(node, own):
            self._inbox.later(CONNECT_TIMEOUT_US, partial(self._lost, link, "timed out"))
            return
        other = world.processes.get(node)
        if other is None or other.is_gone:
            self._lost(link, "connection refused")
            return
        connection = Connection(world.clock, world.cables, own, node)
        self._carry(link, connection)
        other.sockets_for(self._purpose).accept(connection)

    def accept(self, connection: Connection) -> None:
        """Somebody has connected."""
        link = self._accept()
        if link is None:
            connection.send(self._process.name, None)
        else:
            self._carry(link, connection)

    def _carry(self, link: Link, connection: Connection) -> None:
        self._connections[link] = connection
        take = partial(self._take, link)
        inbox = self._inbox
        connection.attach(self._process.name, lambda data: inbox.tell(partial(take, data)))
        self.look_at(link)

    def _take(self, link: Link, data: bytes | None) -> None:
        if data is None:
            self._lost(link, "the other end closed it")
            return
        link.receive_data(data, self.now())
        while link.more_waits:
            link.advance(self.now())
        self.look_at(link)

    def _lost(self, link: Link, reason: str) -> None:
        link.lost(reason)
        self._forget(link)

    def _forget(self, link: Link) -> None:
        self._connections.pop(link, None)
        self._due_us.pop(link, None)

    # Writing

    def look_at(self, link: Link) -> None:
        """Write what the link has, at the end of the turn."""
        self._looked_at[link] = None
        self.flush_later()

    def flush_later(self) -> None:
        """Flush at the end of the turn."""
        if not self._is_flushing:
            self._is_flushing = True
            self._inbox.later(0, self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        self._turn_ends()
        looked_at, self._looked_at = self._looked_at, {}
        for link in looked_at:
            self._write(link)

    def _write(self, link: Link) -> None:
        connection = self._connections.get(link)
        if connection is None:
            return
        while data := link.data_to_send():
            connection.send(self._process.name, b"".join(data))
        if link.closed:
            connection.send(self._process.name, None)
            self._forget(link)
            return
        deadline = link.next_deadline()
        if deadline is not None:
            self._tick_at(link, round(deadline * US_PER_S) + 1)

    def _tick_at(self, link: Link, due_us: int) -> None:
        if self._due_us.get(link, due_us + 1) <= due_us:
            return
        self._due_us[link] = due_us
        now_us = self._world.clock.now_us
        self._inbox.later(due_us - now_us, partial(self._tick, link, due_us))

    def _tick(self, link: Link, due_us: int) -> None:
        if self._due_us.get(link) != due_us:
            return
        del self._due_us[link]
        link.tick(self.now())
        self.look_at(link)

    def reset(self) -> None:
        """The process is gone: its connections are reset."""
        for connection in self._connections.values():
            connection.send(self._process.name, None)
        self._connections.clear()


def _nobody() -> None:
    """Nobody's links are here yet."""


def _nothing() -> None:
    """A turn that ends."""
