"""One connection to the first host of a list that can be reached."""

from __future__ import annotations

from mqkit.errors import TransportError
from mqkit.transport.blocking import BlockingConnection
from mqkit.transport.window_size import WindowSize
from mqkit_spark.options.connection import ConnectionOptions


def connect(
    options: ConnectionOptions, *, name: str, window: WindowSize | None = None
) -> BlockingConnection:
    """Try the hosts in their order, ``connect_timeout_s`` for each. Whoever calls closes it.

    Raises the last host's :exc:`~mqkit.errors.TransportError`, or
    :exc:`~mqkit.errors.ConfigurationError` where the URL can't be had in this process.
    """
    endpoints = options.endpoints()
    transport = options.transport.transport(window)
    for endpoint in endpoints[:-1]:
        try:
            return transport.connect(endpoint, name=name, timeout_s=options.connect_timeout_s)
        except TransportError:
            continue
    return transport.connect(endpoints[-1], name=name, timeout_s=options.connect_timeout_s)
