"""The TLS handshake of an accepted socket, a step a turn of the loop.

    socket --> transport --> HandshakeGate --(a place in the loop)--> the loop's TLS protocol

A step of a handshake (a signature, a decryption, a client's certificate) is a millisecond in one
call. A thousand clients that send theirs at the same moment would be a turn of more than a second,
and whoever wants that needs no key. So what arrives before TLS stands waits for its place: in each
turn one socket's octets get to OpenSSL, one address after the other.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import partial
from typing import cast

from reference_broker.http import TurnShare

TLS_HANDSHAKE_S = 5.0
"""Seconds from the accepted socket to the end of the TLS handshake (RabbitMQ's
ssl_handshake_timeout). The protocol inside has its own time."""

TLS_SHUTDOWN_S = 5.0
"""Seconds for a client to answer the end of the encryption."""


async def shake_hands(
    accepted: socket.socket,
    context: ssl.SSLContext,
    share: TurnShare,
    lane: str,
    inside: asyncio.Protocol,
) -> None:
    """Have TLS on ``accepted``, which is the transport's from now on, and call ``connection_made``
    of ``inside``. What the client sends right behind its handshake comes to ``inside`` before that.

    Raises ``OSError`` when the handshake fails, or takes longer than :data:`TLS_HANDSHAKE_S`; then
    the socket is closed.
    """
    loop = asyncio.get_running_loop()
    plain, unread = await loop.connect_accepted_socket(_Unread, accepted)
    if plain.is_closing():
        raise ConnectionResetError
    starting = loop.create_task(
        loop.start_tls(
            plain,
            inside,
            context,
            server_side=True,
            ssl_handshake_timeout=TLS_HANDSHAKE_S,
            ssl_shutdown_timeout=TLS_SHUTDOWN_S,
        )
    )
    try:
        # Its first step puts the loop's protocol in; it reads in a later turn.
        await asyncio.sleep(0)
        gate = HandshakeGate(plain, share, lane)
        gate.data_received(unread.arrived)
        encrypted = await starting
    except BaseException:
        starting.cancel()
        plain.abort()
        raise
    gate.open()
    assert encrypted is not None
    inside.connection_made(encrypted)


class _Unread(asyncio.Protocol):
    """A transport's protocol until TLS is begun: it reads nothing more than what uvloop brings
    before it looks."""

    def __init__(self) -> None:
        self.arrived = b""

    def data_received(self, data: bytes) -> None:
        self.arrived += data

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).pause_reading()


class HandshakeGate(asyncio.Protocol):
    """Stands between ``transport`` and its protocol, which is the loop's TLS, from when it is made
    until :meth:`open`."""

    def __init__(self, transport: asyncio.Transport, share: TurnShare, lane: str) -> None:
        self._transport = transport
        self._tls = cast(asyncio.BufferedProtocol, transport.get_protocol())
        self._step = partial(share.ask, self._hand_on, lane)
        self._arrived = bytearray()
        self._is_open = False
        transport.set_protocol(self)

    def open(self) -> None:
        """Let everything through from now on: TLS stands."""
        self._is_open = True
        if not self._transport.is_closing():
            self._transport.set_protocol(self._tls)
            self._hand_on()

    # From the transport

    def data_received(self, data: bytes) -> None:
        if data:
            self._arrived += data
            self._transport.pause_reading()
            self._step()

    def eof_received(self) -> bool | None:
        return self._tls.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived.clear()
        # Without an error uvloop takes the handshake for done.
        self._tls.connection_lost(exc or ConnectionResetError())

    def pause_writing(self) -> None:
        self._tls.pause_writing()

    def resume_writing(self) -> None:
        self._tls.resume_writing()

    def _hand_on(self) -> None:
        while self._arrived and not self._transport.is_closing():
            buffer = memoryview(self._tls.get_buffer(len(self._arrived)))
            size = min(len(buffer), len(self._arrived))
            buffer[:size] = self._arrived[:size]
            del self._arrived[:size]
            self._tls.buffer_updated(size)
        if not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()
