"""The thread of heartbeats: one for all links of a node, with a loop and sockets of its own.

What goes between it and the node's event loop are the latest values, under one lock: what to say,
and what was heard. A loop that stands is told of as many links as there are when it goes on, and
not of all that came meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from threading import Lock, Thread

from reference_broker.cluster.heartbeat_links import (
    Heard,
    HeartbeatLinks,
    HeartbeatListener,
    Testimony,
)
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import Hello, LinkId, Purpose
from reference_broker.cluster.link.secret import Secret
from reference_broker.runtime.cluster.link_sockets import LinkSockets
from reference_broker.runtime.cluster.tls import LinkTls
from reference_broker.runtime.etcd.inputs import Inputs, Step
from reference_broker.runtime.process.loop_beat import LoopBeat


class HeartbeatThread:
    """The :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper` of a node. All methods
    are for the thread of the loop in which it is made; ``as_input`` runs a step as an input of the
    core. It says nothing while ``beat`` is one of a loop that stands. :meth:`close` it in the
    end."""

    def __init__(
        self,
        secret: Secret,
        as_input: Callable[[Step], None],
        beat: LoopBeat,
        tls: LinkTls | None = None,
    ) -> None:
        self._secret = secret
        self._inputs = Inputs(asyncio.get_running_loop(), as_input)
        self._beat = beat
        self._tls = tls
        self._listener: HeartbeatListener | None = None
        self._lock = Lock()
        self._report = Report()
        self._news: dict[LinkId, Heard | str] = {}
        """News for the loop, under the lock: a heartbeat, or the reason of an end."""
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._serving = self._loop.create_task(self._serve())
        self._thread = Thread(target=self._run, name="heartbeats", daemon=True)
        self._thread.start()

    # For the loop

    def begin(self, hello: Hello, listener: HeartbeatListener) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        self._listener = listener
        self._call(lambda: self._links.begin(hello))

    def say(self, report: Report) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        with self._lock:
            self._report = report

    def keep(self, link_id: LinkId, address: str) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        self._call(lambda: self._links.keep(link_id, address))

    def end(self, link_id: LinkId, reason: str) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatKeeper`."""
        self._call(lambda: self._links.end(link_id, reason))

    def take(self, accepted: socket.socket) -> None:
        """Carry the heartbeats of whoever has opened the socket, which does not block."""
        if not self._call(lambda: self._sockets.take(accepted)):
            accepted.close()

    async def close(self) -> None:
        """End the thread and its connections, and tell nothing more. Idempotent."""
        self._inputs.close()
        self._call(self._ended.set)
        await asyncio.to_thread(self._thread.join)

    def _call(self, step: Callable[[], object]) -> bool:
        """Have the thread take a step; false where it has ended."""
        try:
            self._loop.call_soon_threadsafe(step)
        except RuntimeError:
            return False
        return True

    def _tell(self) -> None:
        """Tell the listener all that is new."""
        with self._lock:
            news, self._news = self._news, {}
        assert self._listener is not None
        for link_id, what in news.items():
            if isinstance(what, Heard):
                self._listener.heard(link_id, what)
            else:
                self._listener.heartbeats_ended(link_id, what)

    # On the thread

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serving)
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._sockets = LinkSockets(
            _at_once, self._tls, purpose=Purpose.HEARTBEATS, clock=self._beat.clock
        )
        self._links = HeartbeatLinks(self._secret, self._sockets, self._testimony, self)
        self._sockets.attach(self._links.accepted)
        await self._ended.wait()
        self._links.close("the node is stopping")
        await self._sockets.close()

    def _testimony(self) -> Testimony:
        with self._lock:
            return Testimony(self._report, self._beat.at)

    def heard(self, link_id: LinkId, heard: Heard) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatListener`."""
        self._put(link_id, heard)

    def heartbeats_ended(self, link_id: LinkId, reason: str) -> None:
        """See :class:`~reference_broker.cluster.heartbeat_links.HeartbeatListener`."""
        self._put(link_id, reason)

    def _put(self, link_id: LinkId, what: Heard | str) -> None:
        with self._lock:
            is_told = bool(self._news)
            self._news[link_id] = what
        if not is_told:
            self._inputs.give_from_thread(self._tell)


def _at_once(step: Step) -> None:
    step()
