"""A listening socket for clients that speak TLS: accept, handshake, and then the protocol inside.

``create_server(ssl=...)`` would do it too, but it says nothing of a handshake that fails, keeps one
context for good, and has all handshakes at once. Here the context is asked for at each socket, and
handshakes take turns (``paced_handshake.py``).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial

from reference_broker.core.base.peer import Peer
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.http import TurnShare
from reference_broker.runtime.net.acceptor import Accepted, Acceptor, SocketAdmission
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.proxied_sockets import ProxiedSockets
from reference_broker.runtime.net.proxy_sources import ProxySources
from reference_broker.runtime.process.paced_log import PacedLog
from reference_broker.runtime.tls.handshake_slot import HandshakeSlot
from reference_broker.runtime.tls.paced_handshake import TLS_HANDSHAKE_S, shake_hands

HANDSHAKES_MAX = 1_024
"""Sockets in a TLS handshake at a time: each costs a millisecond of CPU and some 50 KiB before
anybody has said who it is. More are closed at once."""

HANDSHAKES_PER_ADDRESS_MAX = HANDSHAKES_MAX // 4
"""Sockets of one address in a TLS handshake: nobody can keep everybody else out with sockets that
say nothing."""

LISTEN_BACKLOG = 1_024
"""Sockets that wait to be accepted: reconnects come in storms."""

_log = logging.getLogger(__name__)

_REASONS = {
    "HTTP_REQUEST": "it speaks HTTP without TLS",
    "WRONG_VERSION_NUMBER": "it does not speak TLS",
    "UNKNOWN_PROTOCOL": "it does not speak TLS",
    "UNSUPPORTED_PROTOCOL": "it speaks only versions of TLS that are too old",
    "NO_SHARED_CIPHER": "it knows no cipher that is used here",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it has shown no certificate, and has to",
    "TLSV1_ALERT_UNKNOWN_CA": "it doesn't know the authority of the server's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it doesn't accept the server's certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it doesn't accept the server's certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the server's certificate has expired, it says",
}


class TlsAcceptor:
    """Accepts clients that speak TLS, once it is started. ``name`` is for the log; ``context``
    gives the settings for the next client; ``share`` has the places for steps of handshakes, which
    all acceptors have together. ``port`` is known from the start on, and kept over a
    stop."""

    port: int | None = None

    def __init__(self, name: str, context: Callable[[], ssl.SSLContext], share: TurnShare) -> None:
        self._name = name
        self._share = share
        self._context = context
        self._refusals = PacedLog(_log.warning, time.monotonic)
        self._accepting: Acceptor | None = None
        self._proxied: ProxiedSockets | None = None
        self._handshakes: set[asyncio.Task[None]] = set()
        self._by_address = OpenHandshakes(HANDSHAKES_PER_ADDRESS_MAX)

    def start(
        self,
        address: Address,
        admission: SocketAdmission,
        handshakes: OpenHandshakes,
        inside: Callable[[Peer], asyncio.Protocol],
        trusts: Callable[[asyncio.Protocol], bool] = lambda _: False,
        *,
        is_management: bool = False,
        proxies: ProxySources | None = None,
    ) -> None:
        """Accept clients; ``inside`` makes the protocol that each of them speaks in TLS, for its
        peer, and ``trusts`` it once its client has logged in. During the TLS handshake they are
        counted in ``handshakes``. ``proxies`` send a PROXY header before it. Port 0 takes a free
        one. Raises ``OSError`` for an address that can't be had."""
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        port = address.port if self.port is None else self.port
        listening = socket.create_server(
            (address.host, port), family=family, backlog=LISTEN_BACKLOG
        )
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        accepted: Accepted = partial(self._begin, handshakes, inside, trusts)
        if proxies is not None:
            self._proxied = ProxiedSockets(self._name, proxies, accepted)
            accepted = self._proxied.accepted
        self._accepting = Acceptor([listening], admission, accepted, is_management=is_management)

    async def stop(self) -> None:
        """Accept no more, and give up the handshakes that are under way. Idempotent."""
        if self._accepting is not None:
            self._accepting.stop()
            self._accepting = None
        if self._proxied is not None:
            self._proxied.stop()
        tasks = [*self._handshakes]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(
        self,
        handshakes: OpenHandshakes,
        inside: Callable[[Peer], asyncio.Protocol],
        trusts: Callable[[asyncio.Protocol], bool],
        accepted: socket.socket,
        peer: Peer,
    ) -> None:
        if len(self._handshakes) >= HANDSHAKES_MAX:
            self._refusals.line(f"{self._name}: too many TLS handshakes: a client is refused")
            accepted.close()
            return
        if not self._enter(peer, handshakes):
            reason = "too many of its handshakes are under way"
            self._refusals.line(f"{peer.shown.host} refused by {self._name}: {reason}")
            accepted.close()
            return
        slot = HandshakeSlot(
            peer, handshakes, partial(inside, peer), partial(self._refused, peer), trusts
        )
        handshake = asyncio.get_running_loop().create_task(
            self._shake_hands(accepted, peer, slot), name=f"handshake {self._name}"
        )
        handshake.add_done_callback(lambda _: slot.leave())
        handshake.add_done_callback(lambda _: self._by_address.leave(peer))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    def _enter(self, peer: Peer, handshakes: OpenHandshakes) -> bool:
        if not self._by_address.enter(peer):
            return False
        if handshakes.enter(peer):
            return True
        self._by_address.leave(peer)
        return False

    async def _shake_hands(self, accepted: socket.socket, peer: Peer, slot: HandshakeSlot) -> None:
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            await shake_hands(accepted, self._context(), self._share, peer.origin, slot)
        except OSError as error:
            accepted.close()
            self._refused(peer, _reason(error))

    def _refused(self, peer: Peer, reason: str) -> None:
        host, port = peer.shown[:2]
        self._refusals.line(f"{host}:{port} refused by {self._name}: {reason}")


def _reason(error: OSError) -> str:
    """An error of the handshake in words, for somebody who looks for why a client can't connect."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        reason = error.reason or str(error)
        return _REASONS.get(reason, f"the TLS handshake failed: {reason}")
    if isinstance(error, ConnectionAbortedError):
        return f"its TLS handshake took longer than {TLS_HANDSHAKE_S:g} s"
    return "it closed the connection in the middle of the TLS handshake"
