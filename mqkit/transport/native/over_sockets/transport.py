"""Opening native connections for code that is not asynchronous."""

from __future__ import annotations

from dataclasses import dataclass, field

from mqkit.errors import DeadlineExceeded
from mqkit.transport.native.decoding import properties_of
from mqkit.transport.native.exact import exact_properties
from mqkit.transport.native.over_sockets.answers import wait_for
from mqkit.transport.native.over_sockets.connection import NativeBlockingConnection
from mqkit.transport.native.over_sockets.driver import SocketDriver
from mqkit.transport.native.over_sockets.stream import Stream, open_stream
from mqkit.transport.seam import Endpoint
from mqkit.transport.window_size import WindowSize

DEFAULT_CALL_TIMEOUT_S = 30.0
"""The time for a declare, a bind or a channel's opening. A blocked broker answers nothing."""


@dataclass(frozen=True, slots=True)
class NativeBlockingTransport:
    """A :class:`mqkit.transport.blocking.BlockingTransport`: a plain value, to be pickled, or used
    after a fork.

    ``window`` bounds what may be unconfirmed on each channel. With ``exact``, deliveries have
    :class:`~mqkit.transport.native.exact.ExactProperties`.
    """

    window: WindowSize = field(default_factory=WindowSize)
    call_timeout_s: float = DEFAULT_CALL_TIMEOUT_S
    exact: bool = False

    def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> NativeBlockingConnection:
        """Open one connection, or raise within ``timeout_s`` seconds: see
        :meth:`mqkit.transport.blocking.BlockingTransport.connect`."""
        options = endpoint.tls_options
        tls = options.context() if endpoint.tls else None
        host, port = endpoint.host, endpoint.port
        read_properties = exact_properties if self.exact else properties_of
        driver = SocketDriver(endpoint, name, heartbeat_s, read_properties)
        late = f"{endpoint} did not open an AMQP connection within {timeout_s:g} s"

        def connected() -> Stream:
            try:
                return open_stream(host, port, tls, options.server_name, timeout_s)
            except TimeoutError:
                raise DeadlineExceeded(late) from None

        driver.start(connected)
        try:
            wait_for(driver.opened, late, timeout_s)
        except BaseException as error:
            driver.abort()
            if isinstance(error, DeadlineExceeded):
                raise DeadlineExceeded(late) from None
            raise
        return NativeBlockingConnection(driver, self.window, self.call_timeout_s)
