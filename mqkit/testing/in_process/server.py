"""The reference broker's server, as tests have it: with a wall clock of its own, and steps from
outside as inputs of its core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mqkit.testing.in_process.confirm_faults import ConfirmFaults
from mqkit.testing.in_process.wall_time import WallTime
from reference_broker.core.base.peer import Peer
from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.runtime.config import ServerConfig
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.connection_protocol import ConnectionProtocol
from reference_broker.runtime.server import Server


class SpoilingProtocol(ConnectionProtocol):
    """A socket whose output a test's faults may spoil."""

    def __init__(self, server: TestedServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop)
        self._server = server

    def flush(self) -> None:
        if self._server.is_held_back(self.connection):
            return
        self._server.spoil(self.connection)
        super().flush()


LOOPBACK = Address("127.0.0.1", 0)
"""Nothing else listens; the port is a free one."""


class TestedServer(Server):
    """In memory, without a management API. All methods are for the thread of its loop."""

    def __init__(self) -> None:
        super().__init__(ServerConfig(amqp=LOOPBACK, http=None))
        self.wall = WallTime()
        self._spoilt: dict[str, ConfirmFaults] = {}
        self._held_back: dict[str, None] = {}

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

    # -- faults, by the name of a virtual host -----------------------------------------------

    def spoil_confirms(self, vhost: str, faults: ConfirmFaults | None) -> None:
        """Have ``faults`` befall the confirms there; none with ``None``."""
        if faults is None:
            self._spoilt.pop(vhost, None)
        else:
            self._spoilt[vhost] = faults

    def hold_output(self, vhost: str) -> None:
        """Send nothing to the clients there, until :meth:`release_output`."""
        self._held_back[vhost] = None

    def release_output(self, vhost: str) -> None:
        """Send them what was held back. Idempotent."""
        if self._held_back.pop(vhost, self) is None:
            for connection in self.broker.connections.values():
                connection.mark_dirty()
            self.input_handled()

    def is_held_back(self, connection: Connection) -> bool:
        """True while the client of ``connection`` is sent nothing."""
        return connection.vhost_name in self._held_back and not connection.closed

    def spoil(self, connection: Connection) -> None:
        """Put the output that is left of it by the faults in place of the connection's output."""
        faults = self._spoilt.get(connection.vhost_name)
        if not faults or not connection.output:
            return
        octets, is_dropped = faults.applied(connection.id, b"".join(connection.output))
        connection.output[:] = [octets]
        connection.output_size = len(octets)
        if is_dropped:
            self.perform(lambda _: connection.drop("dropped by a test"))

    def _protocol(self, _: Peer) -> ConnectionProtocol:
        return SpoilingProtocol(self, self._loop)

    @property
    def is_turning(self) -> bool:
        """True while there is something to do in the next turn of the loop."""
        return self._flush_scheduled or self.broker.has_work

    def has_unsent(self, connection: Connection) -> bool:
        """True while the socket of ``connection`` has not taken all of its output."""
        if self.is_held_back(connection):
            return False  # a test wants it so
        protocol = self._protocols.get(connection.id)
        return connection.output_size > 0 or (protocol is not None and protocol.has_unsent)
