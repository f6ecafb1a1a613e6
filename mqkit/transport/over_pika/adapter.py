"""The pika adapter: a blocking transport on ``pika.SelectConnection``, one thread per connection.

pika's own blocking channel waits for every confirm; this one pipelines them. It uses pika's public
API only. Nothing happens at import, and :class:`PikaTransport` is a plain value: it can be pickled
to another process, or used after a fork.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mqkit.transport.over_pika.connection import PikaConnection
from mqkit.transport.seam import Endpoint
from mqkit.transport.window_size import WindowSize

DEFAULT_CALL_TIMEOUT_S = 30.0
"""The time for a declare, a bind or a channel's opening. A blocked broker answers nothing."""


@dataclass(frozen=True, slots=True)
class PikaTransport:
    """Opens :class:`PikaConnection`; keeps :class:`mqkit.transport.blocking.BlockingTransport`.

    ``window`` bounds what may be unconfirmed on each channel.
    """

    window: WindowSize = field(default_factory=WindowSize)
    call_timeout_s: float = DEFAULT_CALL_TIMEOUT_S

    def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> PikaConnection:
        """Open one connection, or raise within ``timeout_s`` seconds: see
        :meth:`mqkit.transport.blocking.BlockingTransport.connect`."""
        return PikaConnection.open(
            endpoint,
            name=name,
            timeout_s=timeout_s,
            heartbeat_s=heartbeat_s,
            window=self.window,
            call_timeout_s=self.call_timeout_s,
        )
