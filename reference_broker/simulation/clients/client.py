"""A client over :mod:`mqkit.wire`: bytes in, bytes out, one connection with a few channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqkit.wire import (
    PROTOCOL_HEADER,
    Command,
    ContentAssembler,
    FrameParser,
    FrameType,
    method_frame,
)
from mqkit.wire.methods import (
    ChannelClose,
    ChannelOpen,
    ChannelOpenOk,
    ConnectionBlocked,
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
    ConnectionUnblocked,
    Method,
)
from reference_broker.errors import ReplyCode
from reference_broker.simulation.clients.client_channel import ClientChannel
from reference_broker.simulation.clients.memory import Memory
from reference_broker.simulation.events.standings import Standing
from reference_broker.simulation.machine.node import USER
from reference_broker.simulation.plan.plans import ClientPlan, Scenario
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.watch.history import History

_CAPABILITIES = {
    "publisher_confirms": True,
    "basic.nack": True,
    "connection.blocked": True,
    "consumer_cancel_notify": True,
}
_FRAME_MAX = 131_072
_EXPECTED_CLOSES = (
    ReplyCode.ACCESS_REFUSED,  # The consumer that had the queue for itself isn't gone yet.
    ReplyCode.CONNECTION_FORCED,  # A clean stop.
    ReplyCode.INTERNAL_ERROR,  # The disk failed while a declaration waited for it.
)


class Session:
    """One connection, from its first byte on. ``send`` puts bytes on the network.

    Its first channel declares everything, and the others are opened after that. ``over`` when it
    is of no more use: then a client goes on with a new one.
    """

    def __init__(
        self,
        plan: ClientPlan,
        scenario: Scenario,
        history: History,
        memory: Memory,
        send: Callable[[bytes], None],
    ) -> None:
        self.over = False
        self._plan = plan
        self._scenario = scenario
        self._send = send
        self._history = history
        self._opened: set[int] = set()
        self._all_asked = False
        self._parser = FrameParser(_FRAME_MAX)
        self._assemblers = {0: ContentAssembler()}
        memory.connected(history.life)
        self.channels: list[ClientChannel] = []
        for number, channel in enumerate(plan.channels, 1):
            self.channels.append(
                ClientChannel(number, channel, history, memory, history.life, plan.frame_max)
            )
            self._assemblers[number] = ContentAssembler()
        self._handlers: dict[type[Method], Callable[[Any], None]] = {
            ConnectionStart: self._start,
            ConnectionTune: self._tune,
            ConnectionOpenOk: self._connection_open,
            ConnectionClose: self._close,
            ConnectionBlocked: self._ignore,
            ConnectionUnblocked: self._ignore,
        }

    @property
    def ready(self) -> bool:
        """True when every request of the first channel was answered."""
        return self.channels[0] in self.ready_channels()

    def ready_channels(self) -> list[ClientChannel]:
        """Channels that may publish and settle. An eager client may as soon as the first is
        open."""
        if self.over:
            return []
        return [
            channel
            for channel in self.channels
            if channel.number in self._opened
            and (channel.answered or (self._plan.eager and channel.number == 1))
        ]

    @property
    def holds(self) -> bool:
        """True while there is a delivery that the client has not settled."""
        return any(channel.held for channel in self.channels)

    def standing(self, name: str) -> Standing:
        """The client, and what it waits for: all its channels, too."""
        standing = Standing(name, is_connected=not self.over)
        for channel in self.channels:
            standing.asked += channel.waits_for + (channel.number not in self._opened)
            standing.published += len(channel.unconfirmed)
            for queue in channel.active:
                before = standing.handed_ms.get(queue, 0)
                standing.handed_ms[queue] = max(before, channel.handed_ms.get(queue, 0))
        return standing

    # The network

    def begin(self) -> None:
        """Send the protocol header: the link is up."""
        self._send(PROTOCOL_HEADER)

    def receive_data(self, data: bytes, sent: int) -> None:
        """Take bytes from the broker, with the stamp of their hand-out. Raises :exc:`Violation` for
        bytes that the broker may not send."""
        self._parser.receive_data(data)
        while not self.over and (frame := self._parser.next_frame()) is not None:
            if frame.type is FrameType.HEARTBEAT:
                continue
            command = self._assemblers[frame.channel].receive(frame)
            if command is None:
                continue
            if frame.channel:
                self._on_channel(self.channels[frame.channel - 1], command, sent)
            else:
                handler = self._handlers.get(type(command.method))
                if handler is None:
                    raise Violation("protocol", f"a client got {command.method}")
                handler(command.method)

    def end(self) -> None:
        """End the session: its connection is gone, or given up. Idempotent."""
        if not self.over:
            self.over = True
            for channel in self.channels:
                self._history.session_ended(channel.session)

    # What the broker says

    def _on_channel(self, channel: ClientChannel, command: Command, sent: int) -> None:
        method = command.method
        if isinstance(method, ChannelOpenOk):
            self._opened.add(channel.number)
            topology = self._scenario.topology(self._plan) if channel.number == 1 else []
            self._send(channel.begin(topology))
            return
        if isinstance(method, ChannelClose):
            self._close(method)
            return
        channel.receive(command, sent)
        if not self._all_asked and channel.answered:
            self._all_asked = True
            for other in self.channels[1:]:
                self._say(other.number, ChannelOpen())

    def _start(self, method: ConnectionStart) -> None:
        user = USER.encode()
        response = b"\x00" + user + b"\x00" + user
        self._say(0, ConnectionStartOk({"capabilities": _CAPABILITIES}, "PLAIN", response))

    def _tune(self, method: ConnectionTune) -> None:
        frame_max = min(self._plan.frame_max, method.frame_max)
        self._say(0, ConnectionTuneOk(method.channel_max, frame_max, 0), ConnectionOpen("/"))

    def _connection_open(self, method: ConnectionOpenOk) -> None:
        self._say(1, ChannelOpen())

    def _close(self, method: ChannelClose | ConnectionClose) -> None:
        if method.reply_code == ReplyCode.NOT_FOUND:
            raise Violation("definitions", f"something that was declared is not there: {method}")
        if method.reply_code not in _EXPECTED_CLOSES:
            raise Violation("protocol", f"a client was closed: {method}")
        if isinstance(method, ConnectionClose):
            self._say(0, ConnectionCloseOk())
        self.end()

    def _ignore(self, method: Method) -> None:
        """Do nothing: the network blocks a publisher by itself."""

    def _say(self, channel: int, *methods: Method) -> None:
        self._send(b"".join(method_frame(channel, method) for method in methods))
