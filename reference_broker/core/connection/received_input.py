"""The octets that a client sent: handled frame by frame, or kept until something has happened (the
login is checked, an alarm is over, the next turn begins)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.wire import PROTOCOL_HEADER
from reference_broker.core.base.limits import FRAME_SIZE_BEFORE_TUNE, PARKED_FRAME_OVERHEAD_BYTES
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.connection import connection_methods
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.core.connection.frame_loop import first_publish, take_frames
from reference_broker.core.connection.handshake import foreign_protocol
from reference_broker.errors import ConnectionException

if TYPE_CHECKING:
    from collections import deque

    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.connection.connection import Connection

PROTOCOL_HEADERS = (PROTOCOL_HEADER, b"AMQP\x01\x01\x00\x09")
"""The headers that a client may begin with: the second is that of 0-9, which old clients send and
then speak 0-9-1 (Perl's Net::AMQP). RabbitMQ takes it for the same."""


def take_input(connection: Connection, data: bytes) -> None:
    """Handle ``data``, which begins with a frame; in an alarm up to the first publish."""
    if not connection.broker.alarms.sounding or connection.state is not ConnectionState.OPEN:
        _take_bytes(connection, data)
        return
    stop = first_publish(data)
    _take_bytes(connection, data[:stop])
    if stop < len(data) and connection.state is ConnectionState.OPEN:
        connection.rest += data[stop:]
        connection.broker.alarms.block(connection)


def _take_bytes(connection: Connection, data: bytes) -> None:
    if connection.state is ConnectionState.AWAIT_HEADER:
        if not any(header.startswith(data[:8]) for header in PROTOCOL_HEADERS):
            connection.write(PROTOCOL_HEADER)
            connection.drop(foreign_protocol(data))
            return
        if len(data) < len(PROTOCOL_HEADER):
            connection.rest = data
            return
        data = data[len(PROTOCOL_HEADER) :]
        connection_methods.begin_handshake(connection)
    connection.rest = b""
    take_whole_frames(connection, data)


def take_parked(connection: Connection, channel: Channel, frames: deque[tuple[int, bytes]]) -> None:
    """Handle what ``channel`` has kept until now, as :meth:`Connection.take_parked` says. A publish
    among it stops the connection in an alarm, as one in a read does."""
    published_before, connection.has_published = connection.has_published, False
    budget = connection.broker.budget
    while frames and channel.state is not ChannelState.SUSPENDED:
        if budget.left <= 0 and channel.state is ChannelState.OPEN:
            break
        budget.left -= 1
        kind, payload = frames.popleft()
        connection.parked_bytes -= len(payload) + PARKED_FRAME_OVERHEAD_BYTES
        connection.take_frame(kind, channel.number, payload)
    connection.mark_dirty()
    connection.broker.alarms.check(connection)
    connection.has_published |= published_before


def wait_with(connection: Connection, data: bytes) -> None:
    """Keep ``data`` while the login is being checked: a client may have sent the rest of its
    handshake ahead, and may turn out not to be allowed any of it."""
    connection.rest += data
    if len(connection.rest) > FRAME_SIZE_BEFORE_TUNE:
        connection.rest = b""
        connection.drop("more than a handshake was sent before the login was checked")


def take_whole_frames(connection: Connection, data: bytes) -> None:
    """Handle the whole frames of ``data`` for which the turn has time, and keep the rest."""
    try:
        connection.rest = data[take_frames(connection, data) :]
        if connection.rest and connection.broker.budget.left <= 0:
            connection.list_for_a_turn()
    except ConnectionException as error:
        connection.is_deaf = True
        connection.rest = b""
        connection.fail(error)
