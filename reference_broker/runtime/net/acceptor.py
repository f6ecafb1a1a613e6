"""Accepting: sockets from a listening one, a few a turn, as long as there are descriptors.

``loop.create_server`` accepts all that wait before anybody is asked about the first one: with a
backlog of 1,024 it takes the last descriptor without a word.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from reference_broker.core.base.peer import Peer
from reference_broker.runtime.process.descriptors import SocketBound
from reference_broker.runtime.process.paced_log import PacedLog

ACCEPTS_PER_TURN = 16
"""Sockets that a listener may bring in one turn of the loop: each costs about 0.1 ms."""

ACCEPT_RETRY_S = 1.0
"""Seconds to wait when no socket can be accepted: the process has no descriptor left."""

BOUND_LINE_INTERVAL_S = 60.0
"""Seconds between two lines that say that sockets are refused for want of descriptors."""

Accepted: TypeAlias = Callable[[socket.socket, Peer], None]
"""Takes a socket that was admitted, which does not block any more, and has to close it in the end.
"""

_log = logging.getLogger(__name__)


class Admission(Protocol):
    """Whoever judges the sockets of an acceptor."""

    def admits(self, accepted: socket.socket, peer: Peer, *, is_management: bool) -> bool:
        """True if the socket may stay; else it is closed."""
        ...

    def failed(self, error: OSError) -> None:
        """No socket can be accepted at all, for a while."""
        ...


class SocketAdmission:
    """Judges accepted sockets of all listeners of a process by its :class:`SocketBound`."""

    def __init__(
        self,
        bound: SocketBound,
        write: Callable[[str], None] = _log.error,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bound = bound
        self._lines = PacedLog(write, clock, BOUND_LINE_INTERVAL_S)

    def admits(self, accepted: socket.socket, peer: Peer, *, is_management: bool) -> bool:
        """True if the socket may stay; else close it."""
        administrator = is_management and peer.is_loopback
        if self._bound.admits(accepted.fileno(), administrator=administrator):
            return True
        self._lines.line(
            f"{peer} refused: {self._bound.sockets_end} file descriptors are in use; the rest of"
            " the process's limit (ulimit -n) is kept for the log and the administrator"
        )
        return False

    def failed(self, error: OSError) -> None:
        """Say that no socket can be accepted at all."""
        self._lines.line(f"no socket can be accepted: {error}")


class Acceptor:
    """Accepts from ``listening`` sockets, which are its own from now on, until :meth:`stop`.
    ``accepted`` is called with each socket that is admitted. Make it in a running loop."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        admission: Admission,
        accepted: Accepted,
        *,
        is_management: bool = False,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = list(listening)
        self._admission = admission
        self._accepted = accepted
        self._is_management = is_management
        self._retries: dict[socket.socket, asyncio.TimerHandle] = {}
        for each in self._listening:
            self._poll(each)

    def stop(self) -> None:
        """Accept no more, and close the listening sockets. Idempotent."""
        for timer in self._retries.values():
            timer.cancel()
        for each in self._listening:
            if each not in self._retries:
                self._loop.remove_reader(each)
            each.close()
        self._retries.clear()
        self._listening.clear()

    def _poll(self, listening: socket.socket) -> None:
        self._retries.pop(listening, None)
        self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                accepted, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._admission.failed(error)
                self._loop.remove_reader(listening)
                self._retries[listening] = self._loop.call_later(
                    ACCEPT_RETRY_S, self._poll, listening
                )
                return
            accepted.setblocking(False)
            peer = peer_of(accepted)
            if peer is not None and self._admission.admits(
                accepted, peer, is_management=self._is_management
            ):
                self._accepted(accepted, peer)
            else:
                accepted.close()


class Transports:
    """Makes transports of accepted sockets: ``protocol`` makes the protocol of each, for its
    peer."""

    def __init__(self, protocol: Callable[[Peer], asyncio.Protocol]) -> None:
        self._protocol = protocol
        self._tasks: set[asyncio.Task[None]] = set()

    def accepted(self, accepted: socket.socket, peer: Peer) -> None:
        """Hand a socket to the loop; its protocol hears of it in a later turn."""
        serving = self._serve(accepted, partial(self._protocol, peer))
        task = asyncio.get_running_loop().create_task(serving, name="accepted")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Wait until protocols have heard of all sockets, a few turns of the loop: those are open
        then. Idempotent."""
        # None is cancelled: uvloop closes a transport whose maker is cancelled, and tells its
        # protocol nothing if that has heard of the connection in the same turn.
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(
        self, accepted: socket.socket, protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            await asyncio.get_running_loop().connect_accepted_socket(protocol, accepted)
        except OSError:
            accepted.close()  # the client is gone again already


def peer_of(accepted: socket.socket) -> Peer | None:
    """The addresses of an accepted socket; ``None`` for a client that is gone again already."""
    try:
        remote, local = accepted.getpeername(), accepted.getsockname()
    except OSError:
        return None
    return Peer(remote[0], remote[1], local[0], local[1])
