"""A broker with clients on it, and no network: bytes are handed from one side to the other.

    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    assert client.methods() == [QueueDeclareOk("q", 0, 0)]

For tests of connections and channels, and for whoever wants to see a broker's answers. Time stands
still until :meth:`LoneBroker.pass_time`; nothing is synced to disk unless the journal is one that
always is (the default), or :meth:`LoneBroker.sync` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mqkit.wire import (
    PROTOCOL_HEADER,
    ContentAssembler,
    FrameParser,
    FrameType,
    Properties,
    content_frames,
    method_frame,
)
from mqkit.wire.methods import (
    BasicPublish,
    ChannelOpen,
    ConfirmSelect,
    ConnectionOpen,
    ConnectionStartOk,
    ConnectionTuneOk,
    Method,
)
from reference_broker.core.access.mechanisms import DEFAULT_MECHANISMS
from reference_broker.core.access.permission import Permission
from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.base.limits import Limits
from reference_broker.core.base.peer import Peer
from reference_broker.core.base.tls_session import TlsSession
from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal.definition_store import DefinitionStore
from reference_broker.core.journal.journal import Journal, MemoryJournal
from reference_broker.core.work.budget import UNLIMITED_UNITS, Budget

FRAME_MAX = 131_072
"""Frame size, in octets, that a client asks for when nothing else is said."""

CAPABILITIES = {
    "publisher_confirms": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}
"""Capabilities that a client tells of when nothing else is said: all that the broker looks at."""


class Received(NamedTuple):
    """A method that the broker sent, with its content if it has one."""

    channel: int
    method: Method
    header: bytes = b""
    body: bytes = b""


class LoneBroker:
    """A broker and its clock. Users: ``guest`` (from loopback only) and ``remote``, each with its
    name as the password; none where ``shared_definitions`` are the cluster's, and have them.

    ``broker`` is the real one: look inside, or change it within an input. ``journal`` is a
    :class:`MemoryJournal` unless one is given; ``now_s`` and ``wall_ms`` are the clock. A turn has
    as many ``units`` of work as you say; what a client sends, and time that passes, has as many
    turns as it takes. To look between two turns, :meth:`LoneClient.feed` and then :meth:`turn`.
    ``overdrawn`` is the most units that a turn has taken beyond its own.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        limits: Limits | None = None,
        window: MemoryWindow | None = None,
        mechanisms: frozenset[str] = DEFAULT_MECHANISMS,
        units: int = UNLIMITED_UNITS,
        shared_definitions: DefinitionStore | None = None,
    ) -> None:
        self.journal: Journal = journal or MemoryJournal()
        users = UserStore()
        if shared_definitions is None:
            users.add(User("guest", hash_password(b"guest", b"salt"), loopback_only=True))
            users.add(User("remote", hash_password(b"remote", b"salt")))
        self.broker = Broker(
            self.journal,
            users,
            limits=limits,
            window=window,
            version="1.2.3",
            mechanisms=mechanisms,
            budget=Budget(units),
            shared_definitions=shared_definitions,
        )
        self.now_s = 1_000.0
        self.wall_ms = 1_700_000_000_000
        self.overdrawn = 0

    def socket(self, host: str = "127.0.0.1", tls: TlsSession | None = None) -> LoneClient:
        """A client that has connected from ``host`` and sent nothing. Raises
        :exc:`~reference_broker.core.broker.TooManyConnections`."""
        peer = Peer(host, 50_000, "127.0.0.1", 5672, tls)
        return LoneClient(self, self.broker.connect(peer, self.now_s, self.wall_ms))

    def client(
        self,
        *,
        channels: Sequence[int] = (1,),
        capabilities: dict[str, Any] | None = None,
        heartbeat_s: int = 0,
        frame_max: int = FRAME_MAX,
        channel_max: int = 2047,
        vhost: str = "/",
    ) -> LoneClient:
        """A client that is logged in as ``guest`` to ``vhost``, with channels open, and nothing
        left to read. A heartbeat of 0 is none."""
        client = self.socket()
        client.send_bytes(PROTOCOL_HEADER)
        properties = {"capabilities": CAPABILITIES if capabilities is None else capabilities}
        client.send(0, ConnectionStartOk(properties, "PLAIN", b"\x00guest\x00guest"))
        client.send(0, ConnectionTuneOk(channel_max, frame_max, heartbeat_s))
        client.send(0, ConnectionOpen(vhost))
        for number in channels:
            client.send(number, ChannelOpen())
        client.received()
        return client

    def turn(self) -> bool:
        """Begin another turn, and go on with the work that is left over; true when none is."""
        self.broker.budget.refill()
        if self.broker.has_work:
            self.broker.go_on(self.now_s, self.wall_ms)
        self.note_units()
        return not self.broker.has_work

    def complete(self) -> int:
        """Have as many turns as the work takes; returns how many."""
        turns = 1
        while not self.turn():
            turns += 1
        return turns

    def take(self, act: Callable[[], None]) -> None:
        """Have ``act`` be an input of the broker, as an answer of another node is."""
        self.broker.begin(self.now_s, self.wall_ms)
        act()
        self.broker.finish()
        self.note_units()
        self.complete()

    def note_units(self) -> None:
        """Note how far this turn has gone beyond its units."""
        self.overdrawn = max(self.overdrawn, -self.broker.budget.left)

    def add_vhost(self, name: str) -> None:
        """Make another virtual host, in which ``guest`` may do everything."""
        self.broker.add_vhost(name)
        self.broker.access.set_permission("guest", name, Permission.of(".*", ".*", ".*"))

    def sync(self) -> None:
        """Report everything in the journal as synced, so that confirms leave. Idempotent."""
        self.journal.synced = self.journal.tail
        self.broker.synced(self.journal.tail, self.now_s, self.wall_ms)
        self.complete()

    def pass_time(self, seconds: float) -> None:
        """Move both clocks on, and tick whenever the broker asked for it."""
        end_s = self.now_s + seconds
        while True:
            due_s = self.broker.next_deadline()
            if due_s is None or due_s > end_s:
                break
            self._move_to(max(due_s, self.now_s))
        self._move_to(end_s)

    def _move_to(self, now_s: float) -> None:
        self.wall_ms += round((now_s - self.now_s) * 1000)
        self.now_s = now_s
        self.broker.tick(self.now_s, self.wall_ms)
        self.complete()


class LoneClient:
    """One client's end of a connection; made by :class:`LoneBroker`. ``connection`` is the broker's
    end, and ``heartbeats`` counts those that the broker sent."""

    def __init__(self, lone: LoneBroker, connection: Connection) -> None:
        self._lone = lone
        self.connection = connection
        self.heartbeats = 0
        self._parser = FrameParser(frame_max=1 << 24)
        self._assemblers: dict[int, ContentAssembler] = {}

    def feed(self, data: bytes) -> None:
        """Send bytes, of which the broker handles what this turn has time for."""
        self.connection.receive_data(data, self._lone.now_s, self._lone.wall_ms)
        self._lone.note_units()

    def send_bytes(self, data: bytes) -> None:
        """Send bytes, which may be anything at all."""
        self.feed(data)
        self._lone.complete()

    def send(self, channel: int, *methods: Method) -> None:
        """Send methods without content, in one piece."""
        self.send_bytes(b"".join(method_frame(channel, method) for method in methods))

    def publish(
        self,
        routing_key: str,
        body: bytes = b"body",
        *,
        channel: int = 1,
        exchange: str = "",
        mandatory: bool = False,
        properties: Properties | None = None,
        frame_max: int = FRAME_MAX,
    ) -> None:
        """Send basic.publish with its content."""
        method = BasicPublish(exchange, routing_key, mandatory)
        self.send_bytes(
            content_frames(channel, method, properties or Properties(), body, frame_max)
        )

    def select_confirms(self, channel: int = 1) -> None:
        """Put the channel into confirm mode. Discards output that was not read."""
        self.send(channel, ConfirmSelect())
        self.received()

    def disconnect(self) -> None:
        """End the connection, as by a socket that is gone."""
        self.connection.receive_eof(self._lone.now_s, self._lone.wall_ms)
        self._lone.complete()

    def resume_writing(self) -> None:
        """Tell the broker that the socket takes more again."""
        self.connection.resume_writing(self._lone.now_s, self._lone.wall_ms)
        self._lone.complete()

    def output(self) -> bytes:
        """Take the output since the last look, as bytes."""
        return b"".join(self.connection.take_output())

    def received(self) -> list[Received]:
        """Take the output since the last look, decoded. Heartbeats are counted apart."""
        self._parser.receive_data(self.output())
        got: list[Received] = []
        while (frame := self._parser.next_frame()) is not None:
            if frame.type is FrameType.HEARTBEAT:
                self.heartbeats += 1
                continue
            assembler = self._assemblers.setdefault(frame.channel, ContentAssembler())
            command = assembler.receive(frame)
            if command is not None:
                got.append(Received(frame.channel, command.method, command.header, command.body))
        return got

    def methods(self) -> list[Method]:
        """Take the output since the last look, decoded, without channels and contents."""
        return [received.method for received in self.received()]
