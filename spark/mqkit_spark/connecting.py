"""One connection to the first host of a list that can be reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from mqkit.errors import ConnectionRefused, DeadlineExceeded, MqkitError, TransportError
from mqkit.transport.blocking import BlockingConnection
from mqkit.transport.seam import Endpoint
from mqkit.transport.window_size import WindowSize
from mqkit.wire import ReplyCode
from mqkit_spark.options.connection import ConnectionOptions

if TYPE_CHECKING:
    from mqkit.transport.native.over_sockets.connection import NativeBlockingConnection

_ConnectionT = TypeVar("_ConnectionT")


def connect(
    options: ConnectionOptions, *, name: str, window: WindowSize | None = None
) -> BlockingConnection:
    """Try the hosts in their order, ``connect_timeout_s`` for each. Whoever calls closes it.

    The next host is tried where nobody answers, or a node says that it is going down. Raises the
    last host's error, or at once what the others would say as well: a refused login
    (:exc:`~mqkit.errors.ConnectionRefused`); :exc:`~mqkit.errors.ConfigurationError` where the URL
    can't be had in this process.
    """
    transport, timeout_s = options.transport.transport(window), options.connect_timeout_s
    return _first(options, lambda each: transport.connect(each, name=name, timeout_s=timeout_s))


def connect_exact(options: ConnectionOptions, *, name: str) -> NativeBlockingConnection:
    """As :func:`connect`, for who consumes: deliveries have headers with their types. Over the
    native transport alone."""
    transport, timeout_s = options.transport.exact_transport(), options.connect_timeout_s
    return _first(options, lambda each: transport.connect(each, name=name, timeout_s=timeout_s))


def _first(
    options: ConnectionOptions, connect_to: Callable[[Endpoint], _ConnectionT]
) -> _ConnectionT:
    endpoints = options.endpoints()
    for endpoint in endpoints[:-1]:
        try:
            return connect_to(endpoint)
        except MqkitError as error:
            if not _is_of_one_host(error):
                raise
    return connect_to(endpoints[-1])


def _is_of_one_host(error: MqkitError) -> bool:
    if isinstance(error, ConnectionRefused):
        return error.reply_code == ReplyCode.CONNECTION_FORCED
    return isinstance(error, TransportError | DeadlineExceeded)
