"""The octets of an accepted socket on their way to OpenSSL, a portion a turn of the loop.

    socket --> transport --> TlsGate --(a place in the loop)--> the loop's TLS protocol

A step of a handshake (a signature, a decryption, a client's certificate) is a millisecond in one
call. A thousand clients that send theirs at the same moment would be a turn of more than a second,
and whoever wants that needs no login. Nor does who asks for new keys once TLS stands (KeyUpdate,
TLS 1.3): each of these records of 27 octets takes OpenSSL 58 us, and a read of 256 KiB has 9,700.
So octets wait for their place, one socket in each turn, one address after the other, until the
client is trusted; from then on nothing stands between.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import partial
from typing import Protocol, cast

from reference_broker.http import TurnShare

TLS_HANDSHAKE_S = 5.0
"""Seconds from the accepted socket to the end of the TLS handshake (RabbitMQ's
ssl_handshake_timeout). The protocol inside has its own time."""

TLS_SHUTDOWN_S = 5.0
"""Seconds for a client to answer the end of the encryption."""

RECORDS_PER_PORTION = 64
"""TLS records in one portion: 4 ms, if each of them asks for new keys."""

PORTION_BYTES_MIN = 2_048
"""Bytes of a portion that are not divided any more, whatever is in them: 75 such records."""

PORTION_BYTES_MAX = 1 << 16
"""Bytes of a portion that has few records."""

UNREAD_LOOK_S = 0.02
"""Seconds after which it is looked again at a protocol that does not read: were it given octets, it
would have to decrypt all of them in one call later."""

_DATA, _HANDSHAKE = b"\x17\x03\x03", b"\x16\x03\x03"
"""First octets of records."""


class Inside(Protocol):
    """The protocol that is spoken in TLS."""

    @property
    def is_trusted(self) -> bool:
        """True when the client has logged in, so that what it costs is its user's matter."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TLS stands."""


async def shake_hands(
    accepted: socket.socket,
    context: ssl.SSLContext,
    share: TurnShare,
    lane: str,
    inside: Inside,
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
            cast(asyncio.Protocol, inside),
            context,
            server_side=True,
            ssl_handshake_timeout=TLS_HANDSHAKE_S,
            ssl_shutdown_timeout=TLS_SHUTDOWN_S,
        )
    )
    try:
        # Its first step puts the loop's protocol in; it reads in a later turn.
        await asyncio.sleep(0)
        gate = TlsGate(plain, share, lane)
        gate.data_received(unread.arrived)
        encrypted = await starting
    except BaseException:
        starting.cancel()
        plain.abort()
        raise
    assert encrypted is not None
    gate.stands(encrypted, inside)
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


class TlsGate(asyncio.Protocol):
    """Stands between ``transport`` and its protocol, which is the loop's TLS, from when it is made
    until the client is trusted. Call :meth:`stands` when the handshake is over."""

    def __init__(self, transport: asyncio.Transport, share: TurnShare, lane: str) -> None:
        self._transport = transport
        self._tls = cast(asyncio.BufferedProtocol, transport.get_protocol())
        self._ask = partial(share.ask, self._hand_on, lane)
        self._arrived = bytearray()
        self._encrypted: asyncio.Transport | None = None
        self._inside: Inside | None = None
        self._is_waiting = False
        transport.set_protocol(self)

    def stands(self, encrypted: asyncio.Transport, inside: Inside) -> None:
        """TLS stands: ``inside`` is spoken in it, over ``encrypted``."""
        self._encrypted = encrypted
        self._inside = inside

    # From the transport

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        if self._inside is not None and self._inside.is_trusted:
            self._open()
        elif self._arrived:
            if self._transport.is_reading():
                self._transport.pause_reading()
            self._wait()

    def eof_received(self) -> bool | None:
        return self._tls.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived.clear()
        # Without an error uvloop takes a handshake for done.
        self._tls.connection_lost(exc or (None if self._inside else ConnectionResetError()))

    def pause_writing(self) -> None:
        self._tls.pause_writing()

    def resume_writing(self) -> None:
        self._tls.resume_writing()

    # Portions

    def _wait(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._ask()

    def _hand_on(self) -> None:
        """Give TLS a portion, in a place."""
        self._is_waiting = False
        if self._transport.is_closing():
            return
        if self._encrypted is not None and not self._encrypted.is_reading():
            self._is_waiting = True
            asyncio.get_running_loop().call_later(UNREAD_LOOK_S, self._ask)
            return
        self._give(self._portion())
        if self._transport.is_closing():
            return
        if self._inside is not None and self._inside.is_trusted:
            self._open()
        elif self._arrived:
            self._wait()
        elif not self._transport.is_reading():
            self._transport.resume_reading()

    def _open(self) -> None:
        """Let everything through from now on."""
        self._transport.set_protocol(self._tls)
        self._give(len(self._arrived))
        if not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()

    def _portion(self) -> int:
        size = min(len(self._arrived), PORTION_BYTES_MAX)
        while size > PORTION_BYTES_MIN and self._records(size) > RECORDS_PER_PORTION:
            size = max(size // 2, PORTION_BYTES_MIN)
        return size

    def _records(self, size: int) -> int:
        return sum(self._arrived.count(each, 0, size) for each in (_DATA, _HANDSHAKE))

    def _give(self, portion: int) -> None:
        while portion and self._arrived and not self._transport.is_closing():
            buffer = memoryview(self._tls.get_buffer(portion))
            size = min(len(buffer), portion, len(self._arrived))
            buffer[:size] = self._arrived[:size]
            del self._arrived[:size]
            portion -= size
            self._tls.buffer_updated(size)
