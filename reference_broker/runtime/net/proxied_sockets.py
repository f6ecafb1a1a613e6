"""Accepted sockets on their way through the PROXY header.

    Acceptor --> ProxiedSockets --(header read, or none is due)--> Transports, or the TLS acceptor

The header is read from the bare socket, and of it no more octets than belong to the header: TLS or
AMQP finds its first octet first, and does not know of any proxy.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from dataclasses import replace

from reference_broker.core.base.peer import Peer, ProxyHeader
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.runtime.net.acceptor import Accepted
from reference_broker.runtime.net.proxy_header import (
    FIXED_BYTES,
    BadProxyHeader,
    Incomplete,
    parse_proxy_header,
)
from reference_broker.runtime.net.proxy_sources import ProxySources
from reference_broker.runtime.process.paced_log import PacedLog

PROXY_HEADER_S = 5.0
"""Seconds from the accepted socket to the end of its header. The specification wants 3 at least,
for a segment that is lost; what follows has its own time."""

HEADERS_MAX = 1_024
"""Sockets of a listener whose header is awaited. A proxy sends it with its first segment, so they
are few; more are closed at once."""

HEADERS_PER_SOURCE_MAX = HEADERS_MAX // 4
"""Of them from one address: a proxy that is stuck keeps no other one out."""

_log = logging.getLogger(__name__)


class ProxiedSockets:
    """Hands accepted sockets on to ``hand_on``: those from ``sources`` with the header that they
    have sent, all others as they are. ``name`` of the listener is for the log. Make it in a running
    loop."""

    def __init__(
        self,
        name: str,
        sources: ProxySources,
        hand_on: Accepted,
        write: Callable[[str], None] = _log.warning,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._name = name
        self._sources = sources
        self._hand_on = hand_on
        self._refusals = PacedLog(write, time.monotonic)
        self._by_source = OpenHandshakes(HEADERS_PER_SOURCE_MAX)
        self._awaited: dict[socket.socket, _Beginning] = {}

    def accepted(self, accepted: socket.socket, peer: Peer) -> None:
        """Take a socket that was accepted, and does not block."""
        if peer.host not in self._sources:
            self._hand_on(accepted, peer)
        elif len(self._awaited) >= HEADERS_MAX or not self._by_source.enter(peer):
            self._refuse(accepted, peer, "too many PROXY headers are awaited")
        else:
            timer = self._loop.call_later(PROXY_HEADER_S, self._too_late, accepted)
            self._awaited[accepted] = _Beginning(peer, timer)
            self._read(accepted)
            if accepted in self._awaited:
                self._loop.add_reader(accepted, self._read, accepted)

    def stop(self) -> None:
        """Close the sockets whose header is awaited. Idempotent."""
        for accepted in list(self._awaited):
            self._leave(accepted)
            accepted.close()

    def _read(self, accepted: socket.socket) -> None:
        """Read what is there of the header, and not an octet more."""
        beginning = self._awaited[accepted]
        try:
            while True:
                octets = accepted.recv(beginning.missing)
                if not octets:
                    raise ConnectionResetError("it closed the connection")
                header = beginning.take(octets)
                if header is not None:
                    break
        except (BlockingIOError, InterruptedError):
            return
        except BadProxyHeader as error:
            self._leave(accepted)
            self._refuse(accepted, beginning.peer, str(error))
        except OSError as error:
            self._leave(accepted)
            accepted.close()
            _log.info("%s ended before its PROXY header did: %s", beginning.peer, error)
        else:
            self._leave(accepted)
            self._hand_on(accepted, replace(beginning.peer, proxy=header))

    def _too_late(self, accepted: socket.socket) -> None:
        beginning = self._leave(accepted)
        reason = f"its PROXY header took longer than {PROXY_HEADER_S:g} s"
        self._refuse(accepted, beginning.peer, reason)

    def _leave(self, accepted: socket.socket) -> _Beginning:
        beginning = self._awaited.pop(accepted)
        beginning.timer.cancel()
        self._loop.remove_reader(accepted)
        self._by_source.leave(beginning.peer)
        return beginning

    def _refuse(self, accepted: socket.socket, peer: Peer, reason: str) -> None:
        accepted.close()
        self._refusals.line(f"{peer.host}:{peer.port} refused by {self._name}: {reason}")


class _Beginning:
    """The beginning of a header, and the ``timer`` of its end."""

    __slots__ = ("_octets", "missing", "peer", "timer")

    def __init__(self, peer: Peer, timer: asyncio.TimerHandle) -> None:
        self.peer = peer
        self.timer = timer
        self.missing = FIXED_BYTES
        self._octets = b""

    def take(self, octets: bytes) -> ProxyHeader | None:
        """The header, when ``octets`` complete it. Raises :exc:`BadProxyHeader`."""
        self._octets += octets
        parsed = parse_proxy_header(self._octets)
        if isinstance(parsed, Incomplete):
            self.missing = parsed.missing
            return None
        return parsed
