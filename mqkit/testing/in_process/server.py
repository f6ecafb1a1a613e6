"""The reference broker's server, as tests have it: with a wall clock of its own, and steps from
outside as inputs of its core."""

from __future__ import annotations

from collections.abc import Callable

from mqkit.testing.in_process.wall_time import WallTime
from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.runtime.config import ServerConfig
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.server import Server

LOOPBACK = Address("127.0.0.1", 0)
"""Nothing else listens; the port is a free one."""


class TestedServer(Server):
    """In memory, without a management API. All methods are for the thread of its loop."""

    def __init__(self) -> None:
        super().__init__(ServerConfig(amqp=LOOPBACK, http=None))
        self.wall = WallTime()

    def now(self) -> tuple[float, int]:
        return self._loop.time(), self.wall.now_ms()

    def perform(self, step: Callable[[Broker], None]) -> None:
        """Run ``step`` as an input of the core."""
        self.broker.begin(*self.input("a test"))
        try:
            step(self.broker)
        finally:
            self.broker.finish()
            self.input_handled()

    def tick(self) -> None:
        """Begin what is due, as the clock was moved."""
        self._tick()

    @property
    def is_turning(self) -> bool:
        """True while there is something to do in the next turn of the loop."""
        return self._flush_scheduled or self.broker.has_work

    def has_unsent(self, connection: Connection) -> bool:
        """True while the socket of ``connection`` has not taken all of its output."""
        protocol = self._protocols.get(connection.id)
        return connection.output_size > 0 or (protocol is not None and protocol.has_unsent)
