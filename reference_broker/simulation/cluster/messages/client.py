"""A client with one connection and one channel, at one node after another.

hop  -->  log in, open, declare everything  -->  work  -->  closed, lost or fed up  -->  hop
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mqkit.wire import (
    PROTOCOL_HEADER,
    ContentAssembler,
    FrameParser,
    FrameType,
    method_frame,
)
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicDeliver,
    BasicNack,
    ChannelClose,
    ChannelOpen,
    ConnectionBlocked,
    ConnectionClose,
    ConnectionOpen,
    ConnectionStartOk,
    ConnectionTuneOk,
    ConnectionUnblocked,
    Method,
)
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.client_socket import ClientSocket
from reference_broker.simulation.cluster.messages.topology import BRIEF_QUEUE, declarations

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

USER, PASSWORD = "client", "password"

DECLARE_ALL_CHANCE = 0.2
"""Of connections; the others declare what somebody may have deleted."""

HOP_US = (10_000, 3_500_000)
CAPABILITIES = {
    "publisher_confirms": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
}
FRAME_MAX = 8192

ANSWERED_US = 25_000_000
"""Microseconds in which what needs no etcd is answered by a node that goes round: a link is down
6 s after the last that was heard, and the loop at its other end may stand for a moment before."""
AGREED_US = 80_000_000
"""Microseconds in which a declaration is: its -ok waits for every node that is vouched for, and
the views of some may be behind while etcd is away (60 s), or a watch is silent (15 s)."""

Answered = Callable[[Method, bytes], None]


class Client(ABC):
    """The client ``number``. ``prepare`` is what it declares; :meth:`begin` is called when that is
    there, and :meth:`ended` when the connection is gone."""

    def __init__(self, world: ClusterWorld, number: int) -> None:
        self.world = world
        self.random = world.message_random
        self.number = number
        self.lives = 0
        """Connections that it has had."""
        self.eras: dict[str, int] = {}
        """The eras of its node's homes when what is received now was sent."""
        self.blocked_us: int | None = None
        """The time at which the broker has said that the connection is blocked, if it is."""
        self.unblocked_us = 0
        self._socket: ClientSocket | None = None
        self._parser = FrameParser(frame_max=1 << 20)
        self._assembler = ContentAssembler()
        self._asked: deque[tuple[Method, int, Answered]] = deque()
        self._answered_us = 0
        self._is_stopped = self._has_declared = False

    @abstractmethod
    def begin(self) -> None:
        """Everything is declared."""

    @abstractmethod
    def event(self, method: Method, body: bytes) -> None:
        """The broker has sent something that is no answer."""

    @abstractmethod
    def ended(self) -> None:
        """The connection is gone."""

    # The connection

    @property
    def process(self) -> NodeProcess:
        """The process that it is connected to."""
        assert self._socket is not None
        return self._socket.process

    def later(self, within_us: tuple[int, int], act: Callable[[], None]) -> None:
        """Call ``act`` some time later, unless the connection is gone by then."""
        life = self.lives

        def come() -> None:
            if self.lives == life and self._socket is not None:
                act()

        self.world.clock.after(self.random.randint(*within_us), come)

    def hop_later(self) -> None:
        """Connect to some node after a while."""
        self.world.clock.after(self.random.randint(*HOP_US), self._hop)

    def stop(self) -> None:
        """Leave, and never come back."""
        self._is_stopped = True
        self.leave()

    def leave(self) -> None:
        """Close the socket, without a word."""
        if self._socket is not None:
            self._socket.close()
            self.lost()

    def lost(self) -> None:
        """See :class:`~.client_socket.SocketReader`."""
        self._socket = None
        self._asked.clear()
        self.ended()
        if not self._is_stopped:
            self.hop_later()

    def _hop(self) -> None:
        if self._is_stopped:
            return
        serving = [each for each in self.world.processes.values() if each.accepts]
        serving = [each for each in serving if not each.is_gone]
        if not serving:
            self.hop_later()
            return
        self.lives += 1
        self.blocked_us = None
        self.world.counts["client connections"] += 1
        self._parser = FrameParser(frame_max=1 << 20)
        self._assembler = ContentAssembler()
        self._socket = ClientSocket(self.world, self.random.choice(serving), self)
        self._answered_us = self.world.clock.now_us
        login = f"\0{USER}\0{PASSWORD}".encode()
        start_ok = ConnectionStartOk({"capabilities": CAPABILITIES}, "PLAIN", login)
        tune_ok = ConnectionTuneOk(2047, FRAME_MAX, 0)
        hello = [method_frame(0, each) for each in (start_ok, tune_ok, ConnectionOpen("/"))]
        self._socket.send(PROTOCOL_HEADER + b"".join(hello))
        self.ask(ChannelOpen())
        is_all = not self._has_declared or self.random.random() < DECLARE_ALL_CHANCE
        *before, last = declarations() if is_all else [BRIEF_QUEUE.declare()]
        for method in before:
            self.ask(method)
        self.ask(last, lambda method, body: self._declared())

    def _declared(self) -> None:
        self._has_declared = True
        self.begin()

    # Methods

    def send_bytes(self, data: bytes) -> None:
        """Send bytes, if there is a connection."""
        if self._socket is not None:
            self._socket.send(data)

    def send(self, method: Method) -> None:
        """Send a method that has no answer."""
        self.send_bytes(method_frame(1, method))

    def ask(self, method: Method, answered: Answered = lambda method, body: None) -> None:
        """Send a method, and call ``answered`` with its answer."""
        self._asked.append((method, self.world.clock.now_us, answered))
        self.send(method)

    def received(self, data: bytes, eras: dict[str, int]) -> None:
        """See :class:`~.client_socket.SocketReader`."""
        self.eras = eras
        self._parser.receive_data(data)
        while self._socket is not None and (frame := self._parser.next_frame()) is not None:
            if frame.type is FrameType.HEARTBEAT:
                continue
            if frame.channel == 0:
                command: Any = ContentAssembler().receive(frame)
                self._take_connection_method(command.method)
                continue
            command = self._assembler.receive(frame)
            if command is not None:
                self._take(command.method, command.body)

    def _take_connection_method(self, method: Method) -> None:
        if isinstance(method, ConnectionClose):
            self._closed(method)
        elif isinstance(method, ConnectionBlocked):
            self.world.counts["publishers blocked"] += 1
            self.blocked_us = self.world.clock.now_us
            self.world.alarm_laws.hold_blocked(self.process, 0, f"client {self.number}")
        elif isinstance(method, ConnectionUnblocked):
            self.blocked_us, self.unblocked_us = None, self.world.clock.now_us

    def _take(self, method: Method, body: bytes) -> None:
        if isinstance(method, ChannelClose):
            self._closed(method)
        elif isinstance(method, BasicDeliver | BasicAck | BasicNack | BasicCancel):
            self.event(method, body)
        else:
            self._answered_us = self.world.clock.now_us
            asked, _, answered = self._asked.popleft()
            if not method.NAME.startswith(asked.NAME):
                raise LawBroken(f"{asked} was answered by {method}")
            self.world.counts["questions answered"] += 1
            answered(method, body)

    def _closed(self, method: ChannelClose | ConnectionClose) -> None:
        self.world.counts[f"{method.NAME} {method.reply_code}"] += 1
        if method.reply_code not in _EXPECTED:
            raise LawBroken(f"client {self.number} at {self.process.name}: {method}")
        self.leave()

    # Liveness

    @property
    def is_owed(self) -> bool:
        """True while its node is there and goes round: what it asks has to be answered."""
        if self._socket is None or self._socket.process.is_gone:
            return False
        return self._socket.process.stands_since_us is None

    @property
    def waits_for_answers(self) -> bool:
        """True while something is asked."""
        return bool(self._asked)

    def waits_us(self, since_us: int) -> int:
        """Microseconds that its node has had for what was sent then."""
        return self.world.clock.now_us - max(since_us, self.process.goes_since_us)

    def hold_answered(self) -> None:
        """Nothing was asked too long ago."""
        if not self.is_owed or not self._asked:
            return
        method, asked_us, _ = self._asked[0]
        waited_us = self.waits_us(max(asked_us, self._answered_us))
        self.world.counts["liveness, questions that wait"] += 1
        if waited_us > (AGREED_US if _is_agreed_on(method) else ANSWERED_US):
            raise LawBroken(
                f"client {self.number} has waited {waited_us / 1_000_000:.1f} s for an answer of"
                f" {self.process.name} to {method}"
            )


_EXPECTED = (320, 403, 404, 530, 541)
"""A home is down, or a queue is gone; the other nodes can't be asked; and a node that is cut off
may not have the user yet in its view, or its permission, and lets its clients go in the end."""


def _is_agreed_on(method: Method) -> bool:
    # A passive declaration, too: its -ok waits for the others as any does.
    return method.NAME.startswith(("queue.", "exchange."))
