"""The address at which other nodes reach this one, for connections of all purposes.

    Acceptor --> LinkListener --(its preface says the purpose)--> the sockets of that purpose

The preface is read from the bare socket, and not an octet more: TLS finds its first octet first, on
whichever thread.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping

from reference_broker.cluster.link.greetings import ACCEPTED_MAX
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.link import GREETING_S
from reference_broker.cluster.link.preface import PREFACE_BYTES, decode_preface
from reference_broker.core.base.peer import Peer
from reference_broker.errors import BadConfiguration, LinkError
from reference_broker.runtime.net.acceptor import Acceptor
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.listening_sockets import listening_sockets

BACKLOG = 64
"""Connections that wait to be accepted: there are six nodes, with two each."""

Taker = Callable[[socket.socket], None]
"""Takes a socket that does not block, and has to close it in the end."""

_log = logging.getLogger(__name__)


class LinkListener:
    """Listens for other nodes, and hands the sockets of each purpose to its taker. Make it in a
    running loop; :meth:`stop` it in the end. ``has_tls``: what goes over the links is ciphered."""

    def __init__(self, takers: Mapping[Purpose, Taker], *, has_tls: bool) -> None:
        self._takers = takers
        self._has_tls = has_tls
        self._loop = asyncio.get_running_loop()
        self._acceptor: Acceptor | None = None
        self._awaited: dict[socket.socket, _Beginning] = {}

    def listen(self, address: Address) -> Address:
        """Listen there; port 0 takes a free one. Returns where others connect to. Raises
        ``OSError``, and :exc:`BadConfiguration` for an address that others can reach, where links
        have no TLS."""
        if not self._has_tls and not _is_loopback(address.host):
            raise BadConfiguration(
                f"nodes that listen on {address} are reached from elsewhere, and what goes over"
                " their links can be read and changed on the way: give them TLS, or listen on"
                " 127.0.0.1"
            )
        listening = listening_sockets(address, BACKLOG)
        found = Address(*listening[0].getsockname()[:2])
        self._acceptor = Acceptor(listening, self, self._accepted)
        return found

    def stop(self) -> None:
        """Listen no more, and close the sockets that have not said their purpose. Idempotent."""
        if self._acceptor is not None:
            self._acceptor.stop()
        for accepted in list(self._awaited):
            self._refuse(accepted)

    # The admission of accepted sockets

    def admits(self, accepted: socket.socket, peer: Peer, *, is_management: bool) -> bool:
        """True while few have not said their purpose."""
        return len(self._awaited) < ACCEPTED_MAX

    def failed(self, error: OSError) -> None:
        """Say that no socket can be accepted at all."""
        _log.error("no node can be accepted: %s", error)

    # The preface

    def _accepted(self, accepted: socket.socket, peer: Peer) -> None:
        timer = self._loop.call_later(GREETING_S, self._refuse, accepted)
        self._awaited[accepted] = _Beginning(timer)
        self._read(accepted)
        if accepted in self._awaited:
            self._loop.add_reader(accepted, self._read, accepted)

    def _read(self, accepted: socket.socket) -> None:
        beginning = self._awaited[accepted]
        try:
            octets = accepted.recv(PREFACE_BYTES - len(beginning.octets))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            octets = b""
        if not octets:
            self._refuse(accepted)
            return
        beginning.octets += octets
        if len(beginning.octets) == PREFACE_BYTES:
            self._hand_on(accepted, beginning.octets)

    def _hand_on(self, accepted: socket.socket, octets: bytes) -> None:
        try:
            taker = self._takers[decode_preface(octets)]
        except LinkError:
            self._refuse(accepted)
        else:
            self._leave(accepted)
            taker(accepted)

    def _refuse(self, accepted: socket.socket) -> None:
        self._leave(accepted)
        accepted.close()

    def _leave(self, accepted: socket.socket) -> None:
        self._awaited.pop(accepted).timer.cancel()
        self._loop.remove_reader(accepted)


class _Beginning:
    """The octets that came so far, and the ``timer`` of their end."""

    __slots__ = ("octets", "timer")

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.timer = timer
        self.octets = b""


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
