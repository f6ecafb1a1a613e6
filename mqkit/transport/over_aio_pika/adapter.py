"""The aio-pika adapter, for asyncio: aio-pika's connection under mqkit's own channels.

``aio_pika.connect``, not ``connect_robust``: recovery is the supervisor's, who knows the topology,
and a robust connection closes as a whole when one queue can't be declared again. Only in this
folder do types of aio-pika, aiormq and pamqp show.
"""

from __future__ import annotations

import asyncio
import logging
from importlib.metadata import version
from typing import Any

import aio_pika
from aio_pika.abc import AbstractConnection

from mqkit.errors import DeadlineExceeded, Unreachable
from mqkit.transport.over_aio_pika.connection import AioPikaConnection
from mqkit.transport.over_aio_pika.errors import CONNECT_ERRORS, connect_failure
from mqkit.transport.over_aio_pika.tap import TappedTransportFactory
from mqkit.transport.seam import Connection, Endpoint

# What these two log is what mqkit raises or reports as well; without a handler Python would print
# it to stderr a second time, with tracebacks. Programs that configure logging still get it.
for _name in ("aiormq", "aio_pika"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class _TappedConnection(aio_pika.Connection):
    """aio-pika hands its keyword arguments on to aiormq, but not this one.

    Its finalizer does nothing: aio-pika's starts a task that closes the connection, which nobody
    awaits. Here whoever opened it has closed it, or the socket is gone.
    """

    def __init__(self, url: Any, *, tap: TappedTransportFactory, **kwargs: Any) -> None:
        super().__init__(url, **kwargs)
        self.kwargs["transport_factory"] = tap

    def __del__(self) -> None:
        pass


class AioPikaTransport:
    """A :class:`mqkit.transport.seam.Transport` for asyncio."""

    async def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> Connection:
        tap = TappedTransportFactory(tls=endpoint.tls, server_name=endpoint.tls_options.server_name)
        try:
            async with asyncio.timeout(timeout_s):
                connection = await _connect(endpoint, tap, name, heartbeat_s)
                return AioPikaConnection(connection, tap, heartbeat_s)
        except TimeoutError:
            tap.abort()
            raise DeadlineExceeded(
                f"{endpoint} did not open an AMQP connection within {timeout_s:g} s"
            ) from None
        except CONNECT_ERRORS as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                tap.abort()
                raise
            tap.abort()
            if tap.is_foreign:
                raise Unreachable(f"what answers at {endpoint} does not speak AMQP") from None
            failure = connect_failure(error, tap.close_frame, endpoint, heard=tap.has_heard)
            raise failure from None

    @staticmethod
    def over(connection: AbstractConnection) -> Connection:
        """Use an open aio-pika connection that the program has already.

        It must not be a robust one that reconnects behind mqkit's back. Without mqkit's own socket
        ``connection.blocked`` goes unseen, and ``on_blocked`` callbacks are never called.
        """
        return AioPikaConnection(connection, None)


async def _connect(
    endpoint: Endpoint, tap: TappedTransportFactory, name: str, heartbeat_s: int
) -> aio_pika.Connection:
    def tapped(url: Any, **kwargs: Any) -> aio_pika.Connection:
        for in_the_url in ("heartbeat", "auth"):
            kwargs.pop(in_the_url)
        return _TappedConnection(url, tap=tap, **kwargs)

    return await aio_pika.connect(
        host=endpoint.host,
        port=endpoint.port,
        login=endpoint.credentials.username,
        password=endpoint.credentials.password,
        virtualhost=endpoint.vhost,
        ssl=endpoint.tls,
        ssl_context=endpoint.tls_options.context() if endpoint.tls else None,
        auth="external" if endpoint.external else "plain",
        client_properties={
            "connection_name": name,
            "product": "mqkit",
            "version": version("mqkit"),
            "information": "an AMQP 0-9-1 client on aio-pika",
        },
        connection_class=tapped,
        heartbeat=heartbeat_s,
    )
