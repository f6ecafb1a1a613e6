"""The socket of a client with messages, at one process: bytes that arrive late and in order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from reference_broker.core.connection.connection import Connection

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

_LATENCY_US = (50, 2_000)


class SocketReader(Protocol):
    """The client's end of a socket."""

    def received(self, data: bytes, eras: dict[str, int]) -> None:
        """Bytes of the broker have come; when it sent them, its homes had these eras."""
        ...

    def lost(self) -> None:
        """The other end is gone: the process died, or has closed the connection."""
        ...


class ClientSocket:
    """A connection of ``reader`` with ``process``, which is told of it when it goes round. Call
    :meth:`close` in the end; ``reader`` is told nothing any more then."""

    connection: Connection

    def __init__(self, world: ClusterWorld, process: NodeProcess, reader: SocketReader) -> None:
        self._world = world
        self.process = process
        self._reader: SocketReader | None = reader
        self._to_broker_us = self._to_client_us = 0
        process.broker.clients[self] = None
        self._arrive(partial(process.broker.connect, self))

    def send(self, data: bytes) -> None:
        """Have ``data`` arrive at the broker."""
        self._arrive(partial(self.process.broker.receive, self, data))

    def close(self) -> None:
        """Be gone, without a word. Idempotent."""
        if self._reader is not None:
            self._end()
            self._arrive(partial(self.process.broker.receive, self, None))

    def told(self, data: bytes | None) -> None:
        """The broker has sent something; ``None`` is the end."""
        self._to_client_us = max(self._to_client_us, self._world.clock.now_us + self._latency_us())
        delay_us = self._to_client_us - self._world.clock.now_us
        homes = self.process.broker.queue_links.home
        others = [name for name in self._world.names if name != self.process.name]
        eras = {name: homes(name).era for name in others}
        self._world.clock.after(delay_us, partial(self._hand_over, data, eras))

    def process_gone(self) -> None:
        """The process has died: whatever it sent before arrives."""
        self.told(None)

    def _end(self) -> None:
        self._reader = None
        self.process.broker.clients.pop(self, None)

    def _latency_us(self) -> int:
        return self._world.message_random.randint(*_LATENCY_US)

    def _arrive(self, step: partial[None]) -> None:
        now_us = self._world.clock.now_us
        self._to_broker_us = max(self._to_broker_us, now_us + self._latency_us())
        inbox = self.process.broker.inbox
        self._world.clock.after(self._to_broker_us - now_us, lambda: inbox.tell(step))

    def _hand_over(self, data: bytes | None, eras: dict[str, int]) -> None:
        reader = self._reader
        if reader is None:
            return
        if data is None:
            self._end()
            reader.lost()
        else:
            reader.received(data, eras)
