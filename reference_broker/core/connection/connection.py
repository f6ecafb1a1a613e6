"""A connection: bytes in, bytes out, and the channels between. No socket here.

The shell calls :meth:`Connection.receive_data` and :meth:`Connection.receive_eof`, and after each
input of the broker looks at ``broker.take_dirty_connections()``: ``take_output`` (unless the
socket takes no more just now); then ``wants_reading`` and ``closed`` say what to do with it.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from mqkit.wire import FRAME_OVERHEAD, WireError
from mqkit.wire.methods import (
    ConnectionBlocked,
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionUnblocked,
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
    UNHANDLED_BYTES_MAX,
)
from reference_broker.core.base.object_size import object_bytes
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.release import release
from reference_broker.core.channel.traffic import traffic_of_all
from reference_broker.core.connection import connection_methods, control_frames
from reference_broker.core.connection.bad_frames import amqp_error
from reference_broker.core.connection.connection_output import ConnectionOutput
from reference_broker.core.connection.connection_state import (
    CONNECTION_TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_broker.core.connection.handshake import capabilities
from reference_broker.core.connection.heartbeat import Heartbeat
from reference_broker.core.connection.received_input import (
    take_input,
    take_parked,
    take_whole_frames,
    wait_with,
)
from reference_broker.core.hot_path.publish import PUBLISH_IDS, publish_assembled
from reference_broker.core.vhost.method_access import Access
from reference_broker.core.work.budget import CONNECTION_UNITS
from reference_broker.core.work.task import in_order, raise_error
from reference_broker.core.work.until import NotYet
from reference_broker.errors import (
    AmqpError,
    ChannelException,
    ConnectionException,
    ReplyCode,
)

if TYPE_CHECKING:
    from reference_broker.core.access.users import User
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.base.peer import Peer
    from reference_broker.core.channel.publish_target import PublishAssembly
    from reference_broker.core.connection.handshake import Tuned
    from reference_broker.core.connection.ports import ConnectionBroker
    from reference_broker.core.vhost.vhost import VHost
    from reference_broker.core.work.task import Done

CONNECTION_BYTES = 1_900
"""Accounted for each connection beside what it sends and asks for. 1.8 KiB in CPython 3.11."""

LOST_REASON = "client closed the TCP connection"

_CLOSING_OR_CLOSED = (ConnectionState.CLOSING, ConnectionState.CLOSED)
_NOT_TOLD = (ConnectionState.AWAIT_HEADER, ConnectionState.LEAVING)


class Connection(ConnectionOutput):
    """One client. ``id`` is never reused while the broker runs.

    ``has_published`` is true when the input that is handled had content in it. A frame may come
    with ``payload_max`` octets in it, which is ``frame_max``: some clients forget the eight around
    them, and RabbitMQ lets them. It goes with ``body_frame_max`` at most.
    """

    access: Access
    """The permissions of the user in the virtual host. Set when the connection is open."""

    def __init__(self, broker: ConnectionBroker, id: int, peer: Peer) -> None:
        super().__init__(broker)
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
        self._announced_bytes = 0
        self.end_reason = ""

        self.channel_max = broker.limits.channel_max
        self.payload_max = FRAME_SIZE_BEFORE_TUNE
        self.body_frame_max = FRAME_SIZE_BEFORE_TUNE - FRAME_OVERHEAD
        self.message_size_max = broker.limits.message_size_max
        self.heartbeat_s = 0
        self._time_limit: Deadline | None = broker.after(
            HANDSHAKE_S, partial(self.drop, "handshake timeout")
        )

        self.parked_bytes = 0
        self.has_published = False
        self.blocked = False
        self.received_bytes = 0
        self.rest = b""
        self.is_listed = False
        self._waiting_channels = 0
        self._close_asked = False
        self._lost = False
        self.is_deaf = False

    def __repr__(self) -> str:
        return f"<Connection {self.id} {self.peer} {self.state.value}>"

    # Inputs

    def receive_data(self, data: bytes, now: float, wall_ms: int) -> None:
        """Handle ``data`` that the client sent. Never raises for what a client does: a wrong one is
        closed."""
        broker = self.broker
        broker.begin(now, wall_ms)
        self.received_bytes += len(data)
        unhandled = len(self.rest) + len(data)
        self.has_published = False
        if self.heartbeat is not None:
            self.heartbeat.received = True
        if self.state is ConnectionState.SECURING and not self.is_deaf:
            wait_with(self, data)
        elif self.is_listed:
            self.rest += data
        elif not self.is_deaf and self.state is not ConnectionState.CLOSED:
            take_input(self, self.rest + data if self.rest else data)
        broker.finish()
        broker.memory.received(unhandled - len(self.rest))
        broker.alarms.check(self)

    def receive_eof(self, now: float, wall_ms: int) -> None:
        """End the connection, whose socket is gone in whatever way, as soon as the requests that
        have come are handled, and the turn has time for it. Idempotent."""
        self.broker.begin(now, wall_ms)
        self._lost = True
        self.delivery_limit = 0
        self.end_reason = self.end_reason or LOST_REASON
        if not self._is_busy:
            if self.broker.budget.left > 0 or self.closed:
                self._end_lost()
            else:
                self._end_later()
        self.broker.finish()

    # Work that takes more than a turn (a Job)

    @property
    def vhost_name(self) -> str:
        """The virtual host; empty until there is one."""
        return "" if self.vhost is None else self.vhost.name

    @property
    def connection_id(self) -> int:
        """The number of the connection."""
        return self.id

    def advance(self) -> bool:
        """Go on with the frames for which an earlier turn had no time. True: what is left then is
        listed again."""
        self.is_listed = False
        self.has_published = False
        rest, self.rest = self.rest, b""
        if not self.is_deaf and self.state is not ConnectionState.CLOSED:
            try:
                take_input(self, rest)
            except Exception:  # a mistake of ours ends the connection that met it
                self.fail(ConnectionException(ReplyCode.INTERNAL_ERROR, "see the log"))
                raise
        self.broker.memory.received(len(rest) - len(self.rest))
        self.broker.alarms.check(self)
        self._end_if_lost()
        self.mark_dirty()
        return True

    def channel_waits(self) -> None:
        """Count a channel that waits for work to be done: its own, or a queue's."""
        self._waiting_channels += 1

    def channel_goes_on(self) -> None:
        """Count it no more. A close of the connection that waited for it goes on."""
        self._waiting_channels -= 1
        if not self._waiting_channels and self._close_asked:
            self._close_asked = False
            if self.state is ConnectionState.OPEN:
                self.close()
        self._end_if_lost()

    @property
    def is_busy(self) -> bool:
        """True while a channel does work that takes more than a turn, or waits for some."""
        return self._waiting_channels > 0

    @property
    def _is_busy(self) -> bool:
        return self.is_listed or self.is_busy

    def list_for_a_turn(self) -> None:
        """Have the rest of what was read handled in a later turn."""
        self.is_listed = True
        self.broker.work.add(self)

    def _end_if_lost(self) -> None:
        if self._lost and not self._is_busy and self.state is not ConnectionState.CLOSED:
            self._end_lost()

    def _end_later(self) -> None:
        """Thousands of sockets may end in one turn. This one is ended in a later one: it takes and
        gets nothing any more, and whoever names its exclusive queues waits until they are gone."""
        self.rest = b""
        if self.vhost is not None:
            self.vhost.release_exclusive(self)
        self.list_for_a_turn()

    def _end_lost(self) -> None:
        self.broker.budget.left -= CONNECTION_UNITS
        self._end(ConnectionEvent.LOST, LOST_REASON)
        self.output.clear()
        self.output_size = 0

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

    # Asked by the shell

    @property
    def wants_reading(self) -> bool:
        """True when the shell should read from the socket. Not while publishers are blocked, nor
        while a login is checked or more waits, in either direction, than its bound."""
        return not (
            self.blocked
            or (self.state is ConnectionState.SECURING and not self.is_deaf)
            or (self.is_listed and len(self.rest) > UNHANDLED_BYTES_MAX)
            or self.parked_bytes > PARKED_BYTES_MAX
            or self.output_size > REPLY_OUTPUT_BYTES_MAX
        )

    @property
    def waiting_bytes(self) -> int:
        """Bytes held for either side: output, parked frames, and a frame that is not whole."""
        return self.output_size + self.parked_bytes + len(self.rest)

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of all that is the connection's, without its channels."""
        granted = 0 if self.vhost is None else self.access.held_bytes
        return CONNECTION_BYTES + self.waiting_bytes + self._announced_bytes + granted

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
        except NotYet as wait:
            assert channel is not None, "only what is asked on a channel has to wait"
            channel.park(kind, payload)
            channel.wait_until(wait.until)

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
        again; what is left stays in ``frames``."""
        take_parked(self, channel, frames)

    def publish_assembled(self, channel: Channel, assembly: PublishAssembly) -> None:
        """Publish the complete message that ``channel`` had to wait with, or refuse it."""
        try:
            publish_assembled(channel, assembly)
        except (AmqpError, WireError) as error:
            self.refuse(channel, error, *PUBLISH_IDS)

    def refuse(
        self, channel: Channel | None, error: AmqpError | WireError, class_id: int, method_id: int
    ) -> None:
        """Answer a mistake of the client with channel.close or connection.close; ``class_id`` and
        ``method_id`` are what was being handled."""
        answered = amqp_error(error, class_id, method_id)
        if isinstance(answered, ChannelException) and channel is not None:
            channel.fail(answered)
        else:
            self.fail(answered)

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
        self._announced_bytes = object_bytes(properties)

    def secured(self, user: User) -> None:
        """Go on after a login that is right, with the frames that the client sent meanwhile."""
        self.user = user
        self.move(ConnectionEvent.LOGGED_IN)
        connection_methods.offer_limits(self)
        rest, self.rest = self.rest, b""
        if rest:
            take_whole_frames(self, rest)

    def refuse_login(self, error: ConnectionException | None, reason: str) -> None:
        """End the connection after a login that is wrong: a client that can be told is told so now,
        and the socket is closed at its close-ok, or :data:`LOGIN_REFUSED_S` later. ``reason`` is
        for the log, not for the client. Without an ``error`` no client is told: RabbitMQ is silent
        about what was no login at all, and clients take that for a timeout."""
        self.end_reason = reason
        rest, self.rest = self.rest, b""
        is_told = error is not None and self.client_can("authentication_failure_close")
        self.is_deaf = not is_told
        if error is not None and is_told:
            self.fail(error)
        self._limit_time(self.broker.after(LOGIN_REFUSED_S, partial(self.drop, "login refused")))
        self.mark_dirty()
        if is_told and rest:
            take_whole_frames(self, rest)

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
            if self.rest:
                self.broker.after(0.0, self._go_on)

    def _go_on(self) -> None:
        """Take the frames that an alarm had stopped, unless new input has, or the alarm is back."""
        if self.blocked or self.is_deaf or self.is_listed or self.state is not ConnectionState.OPEN:
            return
        self.has_published = False
        rest, self.rest = self.rest, b""
        take_input(self, rest)
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
        self._limit_time(
            self.broker.after(CLOSE_OK_S, partial(self.drop, "no close-ok from the client"))
        )

    def close(self) -> None:
        """Close the connection for the client, or when both close at once; after the requests that
        it has made before, where they take more than a turn. Close-ok says that all is given back,
        and the exclusive queues are gone (RabbitMQ).

        The socket is left to the client, for :data:`LEAVING_S` or one heartbeat at most: were it
        closed here while more of the client's octets come in, they would be answered with a reset,
        and that can overtake close-ok.
        """
        if self.is_busy and self.state is ConnectionState.OPEN:
            self._close_asked = True
            return
        self._end(ConnectionEvent.CLOSE, "closed by the client", self._given_back)

    def _given_back(self, error: Exception | None) -> None:
        raise_error(error)
        if self.state is not ConnectionState.LEAVING:  # the socket is gone
            return
        self.send(ConnectionCloseOk())
        self.mark_dirty()
        delay_s = min(self.heartbeat_s or LEAVING_S, LEAVING_S)
        self._limit_time(
            self.broker.after(delay_s, partial(self.drop, "the client has not closed its socket"))
        )

    def close_ok(self) -> None:
        """End the connection: the client has seen the broker's connection.close."""
        self._end(ConnectionEvent.CLOSE_OK, self.end_reason)

    def drop(self, reason: str) -> None:
        """End the connection without a word. Idempotent."""
        if self.state is not ConnectionState.CLOSED:
            self._end(ConnectionEvent.DROP, reason)

    def _end(self, event: ConnectionEvent, reason: str, done: Done = raise_error) -> None:
        """End the connection: every channel gives back its messages, exclusive queues go. ``done``
        is called then, which may be now."""
        self.move(event)
        self.end_reason = self.end_reason or reason
        self._limit_time(None)
        self.rest = b""
        channels = list(self.channels.values())
        self.channels.clear()
        for channel in channels:
            channel.connection_gone()
        if self.vhost is not None:
            self.vhost.traffic.channels_ended(len(channels), traffic_of_all(channels))
            # Whoever names one of the exclusive queues waits for all that from now on.
            exclusive = self.vhost.release_exclusive(self)
            steps = in_order(release(channels), exclusive)
            self.broker.work.start(steps, self.vhost.name, self.id, done)
        else:
            done(None)
        self.blocked = False
        if self.heartbeat is not None and self.state is not ConnectionState.CLOSING:
            self.heartbeat.stop()
            self.heartbeat = None
        if self.state is ConnectionState.CLOSED:
            self.broker.forget(self)
        self.mark_dirty()

    def _limit_time(self, deadline: Deadline | None) -> None:
        if self._time_limit is not None:
            self._time_limit.cancel()
        self._time_limit = deadline
