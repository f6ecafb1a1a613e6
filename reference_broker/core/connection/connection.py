"""A connection: bytes in, bytes out, and the channels between. No socket here.

The shell calls :meth:`Connection.receive_data` and :meth:`Connection.receive_eof`, and after each
input of the broker looks at ``broker.take_dirty_connections()``: ``take_output`` (unless the
socket takes no more just now); then ``wants_reading`` and ``closed`` say what to do with it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from mqkit.wire import FRAME_OVERHEAD, PROTOCOL_HEADER, MalformedText, WireError, method_frame
from mqkit.wire.methods import (
    ConnectionBlocked,
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionUnblocked,
    Method,
)
from reference_broker.core.base.limits import (
    CLOSE_OK_S,
    DELIVERY_OUTPUT_BYTES_MAX,
    FRAME_SIZE_BEFORE_TUNE,
    HANDSHAKE_S,
    LEAVING_S,
    LOGIN_REFUSED_S,
    PARKED_BYTES_MAX,
    PARKED_FRAME_OVERHEAD_BYTES,
    REPLY_OUTPUT_BYTES_MAX,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.connection import connection_methods, control_frames
from reference_broker.core.connection.connection_state import (
    CONNECTION_TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_broker.core.connection.frame_loop import first_publish, take_frames
from reference_broker.core.connection.handshake import capabilities, foreign_protocol
from reference_broker.core.connection.heartbeat import Heartbeat
from reference_broker.core.hot_path.publish import PUBLISH_IDS, publish_assembled
from reference_broker.core.message.content_frames import append_content
from reference_broker.core.vhost.method_access import Access
from reference_broker.errors import (
    AmqpError,
    ChannelException,
    ConnectionException,
    FrameException,
)

if TYPE_CHECKING:
    from reference_broker.core.access.users import User
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.base.peer import Peer
    from reference_broker.core.channel.publish_target import PublishAssembly
    from reference_broker.core.connection.handshake import Tuned
    from reference_broker.core.connection.ports import ConnectionBroker
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.content_frames import Piece
    from reference_broker.core.vhost.vhost import VHost

PROTOCOL_HEADERS = (PROTOCOL_HEADER, b"AMQP\x01\x01\x00\x09")
"""The headers that a client may begin with: the second is that of 0-9, which old clients send and
then speak 0-9-1 (Perl's Net::AMQP). RabbitMQ takes it for the same."""

_CLOSING_OR_CLOSED = (ConnectionState.CLOSING, ConnectionState.CLOSED)
_NOT_TOLD = (ConnectionState.AWAIT_HEADER, ConnectionState.LEAVING)


class Connection:
    """One client. ``id`` is never reused while the broker runs.

    ``output`` are the pieces that wait to be sent, ``output_size`` their bytes; ``delivery_limit``
    is the bound above which consumers get nothing (0 while the socket takes no more).
    ``has_published`` is true when the input that is handled had content in it. A frame may come
    with ``payload_max`` octets in it, which is ``frame_max``: some clients forget the eight around
    them, and RabbitMQ lets them. It goes with ``body_frame_max`` at most.
    """

    access: Access
    """The permissions of the user in the virtual host. Set when the connection is open."""

    def __init__(self, broker: ConnectionBroker, id: int, peer: Peer) -> None:
        self.broker = broker
        self.id = id
        self.peer = peer
        self.connected_at_ms = broker.moment.wall_ms
        self.state = ConnectionState.AWAIT_HEADER
        self.channels: dict[int, Channel] = {}
        self.user: User | None = None
        self.auth_mechanism = ""
        self.vhost: VHost | None = None
        self.client_properties: dict[str, Any] = {}
        self.client_capabilities: dict[str, Any] = {}
        self.end_reason = ""

        self.channel_max = broker.limits.channel_max
        self.frame_max = FRAME_SIZE_BEFORE_TUNE
        self.payload_max = FRAME_SIZE_BEFORE_TUNE
        self.body_frame_max = FRAME_SIZE_BEFORE_TUNE - FRAME_OVERHEAD
        self.message_size_max = broker.limits.message_size_max
        self.heartbeat_s = 0
        self.heartbeat: Heartbeat | None = None
        self._time_limit: Deadline | None = broker.after(HANDSHAKE_S, self._handshake_expired)

        self.output: list[Piece] = []
        self.output_size = 0
        self.delivery_limit = DELIVERY_OUTPUT_BYTES_MAX
        self.starved = False
        self.dirty = False
        self.parked_bytes = 0
        self.has_published = False
        self.blocked = False
        self.received_bytes = 0
        self.sent_bytes = 0
        self._rest = b""
        self._deaf = False

    def __repr__(self) -> str:
        return f"<Connection {self.id} {self.peer} {self.state.value}>"

    # Inputs

    def receive_data(self, data: bytes, now: float, wall_ms: int) -> None:
        """Handle ``data`` that the client sent. Never raises for what a client does: a wrong one is
        closed."""
        broker = self.broker
        broker.begin(now, wall_ms)
        self.received_bytes += len(data)
        self.has_published = False
        if self.heartbeat is not None:
            self.heartbeat.received = True
        if self.state is ConnectionState.SECURING and not self._deaf:
            self._wait_with(data)
        elif not self._deaf and self.state is not ConnectionState.CLOSED:
            self._take_input(self._rest + data if self._rest else data)
        broker.finish()
        broker.memory.received(len(data))
        broker.alarms.check(self)

    def receive_eof(self, now: float, wall_ms: int) -> None:
        """End the connection, whose socket is gone in whatever way. Idempotent."""
        self.broker.begin(now, wall_ms)
        self._end(ConnectionEvent.LOST, "client closed the TCP connection")
        self.output.clear()
        self.output_size = 0
        self.broker.finish()

    def pause_writing(self) -> None:
        """Give consumers no more, as the socket takes none for now: the output stays here until
        ``resume_writing``."""
        self.delivery_limit = 0

    def resume_writing(self, now: float, wall_ms: int) -> None:
        """Let consumers and requests go on, as the socket takes more again; take the output."""
        self.broker.begin(now, wall_ms)
        self.delivery_limit = DELIVERY_OUTPUT_BYTES_MAX
        if self.starved:
            self.starved = False
            for channel in list(self.channels.values()):
                channel.wake_consumers()
                channel.go_on()
        self.mark_dirty()
        self.broker.finish()

    # Output

    def write(self, data: bytes) -> None:
        """Append to the output; the shell is told that there is some."""
        self.output.append(data)
        self.output_size += len(data)
        self.mark_dirty()

    def write_content(self, number: int, method: bytes, content: Content) -> None:
        """Append a method of channel ``number``, given as its frame's payload, and a message."""
        self.output_size += append_content(
            self.output, number, method, content.header, content.body, self.frame_max
        )
        self.mark_dirty()

    def send(self, method: Method) -> None:
        """Append a method on channel 0."""
        self.write(method_frame(0, method))

    def mark_dirty(self) -> None:
        """Have the shell look at output, ``wants_reading`` and ``closed``."""
        if not self.dirty:
            self.dirty = True
            self.broker.dirty_connections.append(self)

    def take_output(self) -> list[Piece]:
        """The pieces to send, in order; they are the shell's now.

        Where consumers or requests were ``starved`` by a bound on waiting bytes, and the socket
        still takes more, the shell's next call is ``resume_writing``.
        """
        output, self.output = self.output, []
        self.sent_bytes += self.output_size
        self.output_size = 0
        if output and self.heartbeat is not None:
            self.heartbeat.sent = True
        return output

    @property
    def wants_reading(self) -> bool:
        """True when the shell should read from the socket. Not while publishers are blocked, nor
        while a login is checked or more waits, in either direction, than its bound."""
        return not (
            self.blocked
            or (self.state is ConnectionState.SECURING and not self._deaf)
            or self.parked_bytes > PARKED_BYTES_MAX
            or self.output_size > REPLY_OUTPUT_BYTES_MAX
        )

    @property
    def waiting_bytes(self) -> int:
        """Bytes held for either side: output, parked frames, and a frame that is not whole."""
        return self.output_size + self.parked_bytes + len(self._rest)

    @property
    def closed(self) -> bool:
        """True when the shell should close the socket, after sending the output."""
        return self.state is ConnectionState.CLOSED

    @property
    def user_name(self) -> str:
        """Name of the user who logged in; empty before."""
        return "" if self.user is None else self.user.name

    @property
    def node_name(self) -> str:
        """Name of the broker that the client is connected to."""
        return self.broker.node_name

    def client_can(self, capability: str) -> bool:
        """True when the client announced the capability."""
        return self.client_capabilities.get(capability) is True

    # Frames

    def take_frame(self, kind: int, number: int, payload: bytes) -> None:
        """Handle a frame that :func:`take_frames` did not handle itself."""
        channel = self.channels.get(number)
        in_publish = channel is not None and channel.assembly is not None
        try:
            control_frames.take_frame(self, kind, number, payload)
        except (AmqpError, WireError) as error:
            ids = PUBLISH_IDS if in_publish else control_frames.method_ids(kind, payload)
            self.refuse(channel, error, *ids)

    def frame_parked(self, payload: bytes) -> None:
        """Count a frame that a channel keeps until it resumes."""
        self.parked_bytes += len(payload) + PARKED_FRAME_OVERHEAD_BYTES

    def frames_dropped(self, frames: deque[tuple[int, bytes]]) -> None:
        """Count parked frames no more that nobody will handle."""
        self.parked_bytes -= sum(
            len(payload) + PARKED_FRAME_OVERHEAD_BYTES for _, payload in frames
        )

    def take_parked(self, channel: Channel, frames: deque[tuple[int, bytes]]) -> None:
        """Handle the parked frames of ``channel``, oldest first, until one of them suspends it
        again; what is left stays in ``frames``. A publish among them stops the connection in an
        alarm, as one in a read does."""
        published_before, self.has_published = self.has_published, False
        while frames and channel.state is not ChannelState.SUSPENDED:
            kind, payload = frames.popleft()
            self.parked_bytes -= len(payload) + PARKED_FRAME_OVERHEAD_BYTES
            self.take_frame(kind, channel.number, payload)
        self.mark_dirty()
        self.broker.alarms.check(self)
        self.has_published |= published_before

    def publish_assembled(self, channel: Channel, assembly: PublishAssembly) -> None:
        """Publish the complete message that ``channel`` had to wait with, or refuse it."""
        try:
            publish_assembled(channel, assembly)
        except (AmqpError, WireError) as error:
            self.refuse(channel, error, *PUBLISH_IDS)

    def refuse(
        self, channel: Channel | None, error: AmqpError | WireError, class_id: int, method_id: int
    ) -> None:
        """Answer a mistake of the client with channel.close or connection.close.

        ``class_id`` and ``method_id`` are what was being handled; the error's own go first. A
        :exc:`FrameException` has none (RabbitMQ).
        """
        if isinstance(error, MalformedText):
            error = FrameException(error.reply_code, error.text)
        elif isinstance(error, WireError):
            error = ConnectionException(error.reply_code, error.text)
        if not error.method_id and not isinstance(error, FrameException):
            error.class_id, error.method_id = class_id, method_id
        if isinstance(error, ChannelException) and channel is not None:
            channel.fail(error)
        else:
            self.fail(error)

    def _take_input(self, data: bytes) -> None:
        if not self.broker.alarms.sounding or self.state is not ConnectionState.OPEN:
            self._take_bytes(data)
            return
        stop = first_publish(data)
        self._take_bytes(data[:stop])
        if stop < len(data) and self.state is ConnectionState.OPEN:
            self._rest += data[stop:]
            self.broker.alarms.block(self)

    def _take_bytes(self, data: bytes) -> None:
        if self.state is ConnectionState.AWAIT_HEADER:
            if not any(header.startswith(data[:8]) for header in PROTOCOL_HEADERS):
                self.write(PROTOCOL_HEADER)
                self.drop(foreign_protocol(data))
                return
            if len(data) < len(PROTOCOL_HEADER):
                self._rest = data
                return
            data = data[len(PROTOCOL_HEADER) :]
            connection_methods.begin_handshake(self)
        self._rest = b""
        self._take_frames(data)

    def _wait_with(self, data: bytes) -> None:
        """Keep ``data`` while the login is being checked: a client may have sent the rest of its
        handshake ahead, and may turn out not to be allowed any of it."""
        self._rest += data
        if len(self._rest) > FRAME_SIZE_BEFORE_TUNE:
            self._rest = b""
            self.drop("more than a handshake was sent before the login was checked")

    def _take_frames(self, data: bytes) -> None:
        try:
            self._rest = data[take_frames(self, data) :]
        except ConnectionException as error:
            self._deaf = True
            self._rest = b""
            self.fail(error)

    # Channels

    def open_channel(self, number: int, vhost: VHost) -> Channel:
        """Make a channel of that number, which is free."""
        self.channels[number] = channel = Channel(self, number, vhost, self.broker)
        return channel

    def free_channel(self, number: int) -> None:
        """Forget the channel of that number, which is closed: the number may be opened again.
        Idempotent."""
        self.channels.pop(number, None)

    # Becoming open

    def move(self, event: ConnectionEvent) -> None:
        """Take one step of the state table."""
        self.state = CONNECTION_TRANSITIONS.after(self.state, event)

    def introduced(self, properties: dict[str, Any]) -> None:
        """Keep the properties that the client has announced."""
        self.client_properties = properties
        self.client_capabilities = capabilities(properties)

    def secured(self, user: User) -> None:
        """Go on after a login that is right, with the frames that the client sent meanwhile."""
        self.user = user
        self.move(ConnectionEvent.LOGGED_IN)
        connection_methods.offer_limits(self)
        rest, self._rest = self._rest, b""
        if rest:
            self._take_frames(rest)

    def refuse_login(self, error: ConnectionException | None, reason: str) -> None:
        """End the connection after a login that is wrong: a client that can be told is told so now,
        and the socket is closed at its close-ok, or :data:`LOGIN_REFUSED_S` later. ``reason`` is
        for the log, not for the client. Without an ``error`` no client is told: RabbitMQ is silent
        about what was no login at all, and clients take that for a timeout."""
        self.end_reason = reason
        rest, self._rest = self._rest, b""
        is_told = error is not None and self.client_can("authentication_failure_close")
        self._deaf = not is_told
        if error is not None and is_told:
            self.fail(error)
        self._limit_time(self.broker.after(LOGIN_REFUSED_S, self._login_was_refused))
        self.mark_dirty()
        if is_told and rest:
            self._take_frames(rest)

    def tuned(self, tuned: Tuned) -> None:
        """Take over the limits that both sides agreed on, from the next frame on."""
        self.channel_max, self.frame_max, self.heartbeat_s = tuned
        self.payload_max = self.frame_max
        self.body_frame_max = self.frame_max - FRAME_OVERHEAD
        self.heartbeat = Heartbeat(self, self.heartbeat_s)

    def opened(self, vhost: VHost) -> None:
        """Take over the virtual host: the handshake is over."""
        self.vhost = vhost
        self.broker.opened(self)
        self.access = Access(self.broker.access, self.user_name, vhost.name)
        self._limit_time(None)

    # Blocking

    def block(self, reason: str) -> None:
        """Stop reading from this publisher, and say so to a client that knows what it means."""
        if not self.blocked and self.state is ConnectionState.OPEN:
            self.blocked = True
            if self.client_can("connection.blocked"):
                self.send(ConnectionBlocked(reason=reason))
            self.mark_dirty()

    def block_in_alarm(self) -> None:
        """Block the connection as if it had published just now: an alarm has begun while a publish
        of one of its channels waits."""
        self.has_published = True
        self.broker.alarms.check(self)

    def unblock(self) -> None:
        """Read from this publisher again, once the frames that it had sent are handled."""
        if self.blocked:
            self.blocked = False
            if self.client_can("connection.blocked"):
                self.send(ConnectionUnblocked())
            self.mark_dirty()
            if self._rest:
                self.broker.after(0.0, self._go_on)

    def _go_on(self) -> None:
        """Take the frames from the publish on that an alarm, which is over, had stopped. New input
        may have done so already, or the alarm be back."""
        if self.blocked or self._deaf or self.state is not ConnectionState.OPEN:
            return
        self.has_published = False
        rest, self._rest = self._rest, b""
        self._take_input(rest)
        self.broker.alarms.check(self)

    # The end

    def fail(self, error: AmqpError) -> None:
        """End the connection with connection.close, and wait for close-ok. Idempotent.

        A client that has not said yet which protocol it speaks is dropped: no frame means anything
        to it. So is one that has closed already, and was only left to close the socket.
        """
        if self.state in _CLOSING_OR_CLOSED:
            return
        if self.state in _NOT_TOLD:
            self.drop(error.reply_text)
            return
        self._end(ConnectionEvent.FAIL, error.reply_text)
        self.send(
            ConnectionClose(
                reply_code=error.code,
                reply_text=error.reply_text,
                class_id=error.class_id,
                method_id=error.method_id,
            )
        )
        self._limit_time(self.broker.after(CLOSE_OK_S, self._close_ok_expired))

    def close(self) -> None:
        """Close the connection for the client, or when both close at once.

        The socket is left to the client, for :data:`LEAVING_S` or one heartbeat at most: were it
        closed here while more of the client's octets come in, they would be answered with a reset,
        and that can overtake close-ok.
        """
        self._end(ConnectionEvent.CLOSE, "closed by the client")
        self.send(ConnectionCloseOk())
        delay_s = min(self.heartbeat_s or LEAVING_S, LEAVING_S)
        self._limit_time(self.broker.after(delay_s, self._leaving_expired))

    def close_ok(self) -> None:
        """End the connection: the client has seen the broker's connection.close."""
        self._end(ConnectionEvent.CLOSE_OK, self.end_reason)

    def drop(self, reason: str) -> None:
        """End the connection without a word. Idempotent."""
        if self.state is not ConnectionState.CLOSED:
            self._end(ConnectionEvent.DROP, reason)

    def _end(self, event: ConnectionEvent, reason: str) -> None:
        """End the connection: every channel gives back its messages, exclusive queues go."""
        self.move(event)
        self.end_reason = self.end_reason or reason
        self._limit_time(None)
        channels, self.channels = dict(self.channels), self.channels
        self.channels.clear()
        for channel in channels.values():
            channel.connection_gone()
        if self.vhost is not None:
            self.vhost.release_exclusive(self)
        self.blocked = False
        if self.heartbeat is not None and self.state is not ConnectionState.CLOSING:
            self.heartbeat.stop()
        if self.state is ConnectionState.CLOSED:
            self.broker.forget(self)
        self.mark_dirty()

    def _limit_time(self, deadline: Deadline | None) -> None:
        if self._time_limit is not None:
            self._time_limit.cancel()
        self._time_limit = deadline

    def _handshake_expired(self) -> None:
        self.drop("handshake timeout")

    def _login_was_refused(self) -> None:
        self.drop("login refused")

    def _close_ok_expired(self) -> None:
        self.drop("no close-ok from the client")

    def _leaving_expired(self) -> None:
        self.drop("the client has not closed its socket")
