"""A connection for one consumer alone, so that not reading it stops nobody else."""

from __future__ import annotations

import asyncio

from mqkit.consumer.subscription import Link
from mqkit.errors import ConfigurationError, ConnectionLost, MqkitError
from mqkit.transport.seam import Connection, PausesReading


class OwnConnection:
    """A :class:`~mqkit.consumer.subscription.Link` whose connection is this consumer's. ``lost`` is
    set when it goes."""

    def __init__(self, link: Link, role: str) -> None:
        self._link = link
        self._role = role
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()
        self.lost = asyncio.Event()

    def consuming_connection(self) -> Connection:
        """Raises :exc:`~mqkit.errors.ConnectionLost` while there is none."""
        if self._connection is None or not self._connection.is_open:
            raise ConnectionLost(f"the connection for {self._role} is gone")
        return self._connection

    async def declare(self, connection: Connection) -> None:
        await self._link.declare(connection)

    def current_name(self, queue: str) -> str:
        return self._link.current_name(queue)

    async def open_connection(self, role: str) -> Connection:
        return await self._link.open_connection(role)

    async def connect(self) -> Connection:
        """The connection, opened if there is none.

        Raises :exc:`~mqkit.errors.TransportError`, and :exc:`~mqkit.errors.ConfigurationError` for
        a transport whose connections can't pause reading.
        """
        async with self._opening:
            if self._connection is None or not self._connection.is_open:
                connection = await self._link.open_connection(self._role)
                if not isinstance(connection, PausesReading):
                    await connection.close()
                    raise ConfigurationError(
                        f"{type(connection).__name__} can't pause reading, and nothing else bounds"
                        ' what ack="none" has sent: take another transport, or another ack'
                    )
                connection.on_closed(self._closed)
                self._connection = connection
            return self._connection

    def pause_reading(self) -> None:
        """Leave what arrives in the socket, until :meth:`resume_reading`."""
        if isinstance(self._connection, PausesReading):
            self._connection.pause_reading()

    def resume_reading(self) -> None:
        """Read again. Idempotent."""
        if isinstance(self._connection, PausesReading):
            self._connection.resume_reading()

    async def close(self) -> None:
        """Idempotent."""
        if self._connection is not None:
            self.resume_reading()  # the broker's answer is behind what it has sent
            await self._connection.close()

    def _closed(self, _: MqkitError | None) -> None:
        self.lost.set()
