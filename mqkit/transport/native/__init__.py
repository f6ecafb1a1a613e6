"""The native adapter: mqkit's own AMQP client, over :mod:`mqkit.wire`.

    connection, channel         what AMQP wants, without I/O; tables of states in ``states``
    handshake, replies, acks, encoding, decoding, faults    the parts of it
    over_asyncio/               sockets and futures of asyncio
    over_sockets/               a plain socket, and a thread that reads it

A turn - of the event loop, or of a thread that has the lock - is the unit of everything: what it
publishes and acks goes out in one write, and what one read brings is handed on before the next.
"""

from __future__ import annotations

from mqkit.transport.native.over_asyncio.transport import NativeTransport

__all__ = ["NativeTransport"]
