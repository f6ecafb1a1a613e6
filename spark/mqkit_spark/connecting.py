"""One connection to the first host of a list that can be reached."""

from __future__ import annotations

from mqkit.errors import ConnectionRefused, DeadlineExceeded, MqkitError, TransportError
from mqkit.transport.blocking import BlockingConnection
from mqkit.transport.window_size import WindowSize
from mqkit.wire import ReplyCode
from mqkit_spark.options.connection import ConnectionOptions


def connect(
    options: ConnectionOptions,
    *,
    name: str,
    window: WindowSize | None = None,
    exact: bool = False,
) -> BlockingConnection:
    """Try the hosts in their order, ``connect_timeout_s`` for each. Whoever calls closes it. With
    ``exact``, deliveries have headers with their types (over the native transport alone).

    The next host is tried where nobody answers, or a node says that it is going down. Raises the
    last host's error, or at once what the others would say as well: a refused login
    (:exc:`~mqkit.errors.ConnectionRefused`); :exc:`~mqkit.errors.ConfigurationError` where the URL
    can't be had in this process.
    """
    endpoints = options.endpoints()
    transport = options.transport.transport(window, exact=exact)
    for endpoint in endpoints[:-1]:
        try:
            return transport.connect(endpoint, name=name, timeout_s=options.connect_timeout_s)
        except MqkitError as error:
            if not _is_of_one_host(error):
                raise
    return transport.connect(endpoints[-1], name=name, timeout_s=options.connect_timeout_s)


def _is_of_one_host(error: MqkitError) -> bool:
    if isinstance(error, ConnectionRefused):
        return error.reply_code == ReplyCode.CONNECTION_FORCED
    return isinstance(error, TransportError | DeadlineExceeded)
