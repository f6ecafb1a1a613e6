"""A raw AMQP connection: it sends what it is told, and keeps all that comes, as it came.

Blocking, over :mod:`mqkit.wire`. It answers closes, as a client must, and nothing else by itself.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mqkit import wire
from mqkit.transport.seam import Endpoint
from mqkit.wire import methods

FRAME_MAX = 131_072
RECEIVE_BYTES = 1 << 18
ANSWER_TIMEOUT_S = 20.0
"""A broker on a busy machine may take its time; one that doesn't answer at all is a finding."""

CLIENT_CAPABILITIES = {
    "publisher_confirms": True,
    "consumer_cancel_notify": True,
    "basic.nack": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
    "exchange_exchange_bindings": True,
}


class NoAnswer(Exception):
    """The broker said nothing for :data:`ANSWER_TIMEOUT_S`."""


@dataclass(frozen=True, slots=True)
class Event:
    """A method, with its content, that the broker sent on a channel."""

    channel: int
    command: wire.Command


@dataclass(slots=True)
class ChannelInbox:
    """The state of one open channel. ``flows`` counts round trips: asked less answered."""

    assembler: wire.ContentAssembler = field(default_factory=wire.ContentAssembler)
    flows: int = 0


class Peer:
    """One connection to one broker, with any number of channels.

    ``events`` grows as frames arrive; take from it what you like. A channel or the connection that
    the broker closed is gone from :attr:`channels` (``alive`` is False) when its close is read.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.events: list[Event] = []
        self.channels: dict[int, ChannelInbox] = {}
        self.alive = True
        self._socket = socket.create_connection((endpoint.host, endpoint.port), ANSWER_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser = wire.FrameParser(FRAME_MAX)
        self._connection = wire.ContentAssembler()
        self._handshake(endpoint)

    def open_channel(self, channel: int) -> None:
        """Open it, if it isn't. The answer is not among the events."""
        if channel in self.channels or not self.alive:
            return
        self.channels[channel] = ChannelInbox()
        self.send(channel, methods.ChannelOpen())
        self.take(channel, 1)

    def send(self, channel: int, method: methods.Method) -> None:
        self.write(wire.method_frame(channel, method))

    def publish(
        self, channel: int, method: methods.BasicPublish, properties: wire.Properties, body: bytes
    ) -> None:
        self.write(wire.content_frames(channel, method, properties, body, FRAME_MAX))

    def write(self, data: bytes) -> None:
        """Raw octets. A connection that is gone swallows them: its end is among the events."""
        try:
            self._socket.sendall(data)
        except OSError:
            self._cut_off()

    def close_channel(self, channel: int) -> None:
        """Close it, and wait for the answer: the next frame on it would be a mistake before."""
        self.send(channel, methods.ChannelClose(200, "done", 0, 0))
        self._wait(lambda: channel not in self.channels)

    def ask(self) -> None:
        """Ask every open channel for a sign of life: what was sent before has been handled then.

        ``channel.flow`` with ``active`` is the one question without an effect.
        """
        for channel, inbox in self.channels.items():
            inbox.flows += 1
            self.send(channel, methods.ChannelFlow(active=True))

    def wait_until_answered(self) -> None:
        """Wait for the answers that :meth:`ask` asked for. Raises :exc:`NoAnswer`."""
        self._wait(lambda: all(inbox.flows == 0 for inbox in list(self.channels.values())))

    def take(self, channel: int, count: int) -> list[Event]:
        """Wait for this many events of a channel, and take them out; fewer if it is closed, the
        close among them. Raises :exc:`NoAnswer`."""

        def there() -> list[Event]:
            return [event for event in self.events if event.channel == channel]

        self._wait(lambda: channel not in self.channels or len(there()) >= count)
        taken = there()
        self.events = [event for event in self.events if event.channel != channel]
        return taken

    def wait_for(self, channel: int, answer: type[methods.Method]) -> None:
        """Wait until this is among the channel's events, or the channel is closed. Raises
        :exc:`NoAnswer`."""

        def there() -> bool:
            return any(
                event.channel == channel and isinstance(event.command.method, answer)
                for event in self.events
            )

        self._wait(lambda: channel not in self.channels or there())

    def pump(self, timeout_s: float) -> None:
        """Read what comes within this time, once."""
        if not self.alive or not select.select([self._socket], [], [], timeout_s)[0]:
            return
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except OSError:
            data = b""
        if not data:
            self._cut_off()
            return
        self._parser.receive_data(data)
        while (frame := self._parser.next_frame()) is not None:
            for command in self._commands(frame):
                self._receive(frame.channel, command)

    def close(self) -> None:
        """Close the connection properly, and wait until the broker has done its part."""
        if self.alive:
            self.send(0, methods.ConnectionClose(200, "done", 0, 0))
            self._wait(lambda: not self.alive)
        self._socket.close()

    def _commands(self, frame: wire.Frame) -> Iterator[wire.Command]:
        if frame.type is wire.FrameType.HEARTBEAT:
            return
        inbox = self.channels.get(frame.channel)
        if frame.channel and inbox is None:
            return  # sent before the broker knew that the channel is gone
        assembler = inbox.assembler if inbox else self._connection
        command = assembler.receive(frame)
        if command is not None:
            yield command

    def _receive(self, channel: int, command: wire.Command) -> None:
        match command.method:
            case methods.ChannelFlowOk():
                self.channels[channel].flows -= 1
                return
            case methods.ChannelClose():
                del self.channels[channel]
                self.send(channel, methods.ChannelCloseOk())
            case methods.ChannelCloseOk():
                del self.channels[channel]
            case methods.ConnectionClose():
                self.send(0, methods.ConnectionCloseOk())
                self._ended()
            case methods.ConnectionCloseOk():
                self._ended()
        self.events.append(Event(channel, command))

    def _cut_off(self) -> None:
        """The socket is gone without a goodbye; once it is told as one with code 0."""
        if self.alive:
            self.events.append(Event(0, wire.Command(methods.ConnectionClose(0, "socket closed"))))
            self._ended()

    def _ended(self) -> None:
        self.alive = False
        self.channels.clear()

    def _handshake(self, endpoint: Endpoint) -> None:
        login = f"\0{endpoint.credentials.username}\0{endpoint.credentials.password}"
        self.write(wire.PROTOCOL_HEADER)
        self._wait_for(methods.ConnectionStart)
        self.send(
            0,
            methods.ConnectionStartOk(
                client_properties={"product": "interop", "capabilities": CLIENT_CAPABILITIES},
                mechanism="PLAIN",
                response=login.encode(),
            ),
        )
        self._wait_for(methods.ConnectionTune)
        self.send(0, methods.ConnectionTuneOk(2047, FRAME_MAX, 0))
        self.send(0, methods.ConnectionOpen(virtual_host=endpoint.vhost))
        self._wait_for(methods.ConnectionOpenOk)
        self.events.clear()

    def _wait_for(self, answer: type[methods.Method]) -> None:
        seen = len(self.events)
        self._wait(
            lambda: any(isinstance(event.command.method, answer) for event in self.events[seen:])
        )

    def _wait(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while self.alive and not done():
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoAnswer
            self.pump(left)
