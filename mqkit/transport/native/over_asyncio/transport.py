"""Opening native connections in asyncio."""

from __future__ import annotations

import asyncio

from mqkit.errors import DeadlineExceeded
from mqkit.transport.native.decoding import properties_of
from mqkit.transport.native.exact import exact_properties
from mqkit.transport.native.faults import unopened
from mqkit.transport.native.over_asyncio.connection import NativeAsyncConnection
from mqkit.transport.native.over_asyncio.protocol import NativeProtocol
from mqkit.transport.seam import Connection, Endpoint


class NativeTransport:
    """A :class:`mqkit.transport.seam.Transport` for asyncio, uvloop included.

    With ``exact``, deliveries have :class:`~mqkit.transport.native.exact.ExactProperties`: what is
    published with them again is the same to the octet.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._read_properties = exact_properties if exact else properties_of

    async def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> Connection:
        options = endpoint.tls_options
        tls = options.context() if endpoint.tls else None
        protocol = NativeProtocol(endpoint, name, heartbeat_s, self._read_properties)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.get_running_loop().create_connection(
                    lambda: protocol,
                    endpoint.host,
                    endpoint.port,
                    ssl=tls,
                    server_hostname=None if tls is None else options.server_name,
                )
                await asyncio.shield(protocol.opened)
        except TimeoutError:
            protocol.abort()
            raise DeadlineExceeded(
                f"{endpoint} did not open an AMQP connection within {timeout_s:g} s"
            ) from None
        except OSError as error:
            protocol.abort()
            raise unopened(error, endpoint, heard=False) from None
        except BaseException:
            protocol.abort()
            raise
        return NativeAsyncConnection(protocol)
