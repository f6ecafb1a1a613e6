"""The broker's half of a test's virtual time, as far as one virtual host goes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

from mqkit.testing.in_process.broker_thread import STEP_TIMEOUT_S, BrokerThread
from mqkit.testing.virtual_time.ports import Held, Look
from mqkit.wire import WireError, decode_header
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.connection.connection import Connection

LOOP_ROUNDS = 3
"""Turns of the broker's loop before a look: one finds what sockets have, one handles it, one writes
the answers."""


class TimedVhost:
    """A :class:`~mqkit.testing.virtual_time.ports.TimedBroker` on the broker of this process."""

    def __init__(self, thread: BrokerThread, vhost: str) -> None:
        self._thread = thread
        self._server = thread.server
        self._vhost = vhost

    def stop_clock(self) -> int:
        return self._thread.run(self._server.wall.stop)

    def run_clock(self) -> None:
        self._thread.run(self._server.wall.run)

    def next_ms(self) -> int | None:
        return self._thread.run(lambda: self._server.broker.deadlines.next_ms())

    def move_to(self, time_ms: int) -> None:
        def move() -> None:
            self._server.wall.move_to(time_ms)
            self._server.tick()

        self._thread.run(move)

    def look(self) -> Look:
        looked: Future[Look] = Future()
        self._thread.after_turns(LOOP_ROUNDS, lambda: looked.set_result(self._look()))
        return looked.result(STEP_TIMEOUT_S)

    def _look(self) -> Look:
        """For the broker's thread."""
        connections = list(self._connections())
        unread = [each for each in connections if self._server.has_unsent(each)]
        return Look(
            is_idle=not (self._server.is_turning or unread),
            activity=self._server.broker.connections_opened
            + sum(each.received_bytes + each.sent_bytes for each in connections),
            held=tuple(held for each in connections for held in _held_by(each)),
            unread=_name(unread[0]) if unread else "",
        )

    def _connections(self) -> Iterator[Connection]:
        for connection in self._server.broker.connections.values():
            if connection.vhost is not None and connection.vhost.name == self._vhost:
                yield connection


def _held_by(connection: Connection) -> Iterator[Held]:
    """The messages that consumers of ``connection`` have got and not settled. A message that was
    taken by basic.get is in the hands of who asked for it."""
    for channel in connection.channels.values():
        for tag, lease in channel.unacked.items():
            holder = lease.holder
            if isinstance(holder, Consumer):
                words = (
                    f"message {_message_id(lease.content.header)} of {lease.queue.name}, which the"
                    f" consumer {holder.tag} of {_name(connection)} has not settled"
                )
                yield Held((connection.id, channel.number, tag), holder.tag, words)


def _name(connection: Connection) -> str:
    return str(connection.client_properties.get("connection_name") or connection.peer)


def _message_id(header: bytes) -> str:
    try:
        return decode_header(header)[1].message_id or "without an id"
    except WireError:
        return "with properties that can't be read"
