"""One connection of a feature's client, with one channel: bytes in, bytes out.

It logs in, has everything declared, and from then on publishes, takes and settles as the feature
says. What it is told goes to the feature.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from mqkit.wire import (
    PERSISTENT,
    PROTOCOL_HEADER,
    Command,
    ContentAssembler,
    FrameParser,
    FrameType,
    Properties,
    content_frames,
    decode_header,
    method_frame,
)
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicPublish,
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
from reference_broker.simulation.clients.features.ledger import Ledger, Post
from reference_broker.simulation.events.standings import Standing
from reference_broker.simulation.machine.node import USER
from reference_broker.simulation.watch.checkers import Violation

_FRAME_MAX = 131_072
_CAPABILITIES = {
    "publisher_confirms": True,
    "basic.nack": True,
    "connection.blocked": True,
    "consumer_cancel_notify": True,
}
_CHANNEL = 1


class Taken(NamedTuple):
    """A message that the line was handed, and has not settled. ``consumer`` is empty for a
    basic.get, and ``sent_ms`` is when the broker handed it out, by the wall clock."""

    queue: str
    consumer: str
    number: int
    redelivered: bool
    headers: dict[str, Any]
    sent_ms: int


def number_of(header: bytes) -> int:
    """The number of a message that a line has sent, in its content header; 0 for none."""
    headers = decode_header(header)[1].headers or {}
    number: int = headers.get("n", 0)
    return number


class LineHost(Protocol):
    """The feature whose client uses the line, as the line sees it."""

    expected_closes: tuple[int, ...]
    """Reply codes with which the broker may close the line; any other is a :exc:`Violation`."""
    ledger: Ledger
    deletes_consumed: bool
    """The client deletes queues that it consumes, so the broker may cancel its consumers."""
    fans_out: bool
    """Messages come out of an exchange that held them, into several queues. With a crash between
    two portions of that, some queues have a message already, and get it again, as redelivered."""

    @property
    def vhost(self) -> str:
        """The virtual host to open."""

    def topology(self) -> list[Method]:
        """All that is said first on a line. Each has one answer."""

    def answered(self, line: Line, method: Method) -> None:
        """The broker has answered a method that was sent by :meth:`Line.ask`, or a first one."""

    def confirmed(self, line: Line, post: Post) -> None:
        """The broker has confirmed a message."""

    def nacked(self, line: Line, post: Post) -> None:
        """The broker has nacked a message: it may be in some of its queues."""

    def delivered(self, line: Line, taken: Taken) -> None:
        """The broker has delivered a message, and the ledger knows. Raises :exc:`Violation`."""


class Line:
    """A connection from its first byte to :attr:`over`. ``number`` tells it from others. Methods
    that have bytes to send have sent them when they return."""

    def __init__(
        self,
        number: int,
        feature: LineHost,
        send: Callable[[bytes], None],
        wall_ms: Callable[[int], int],
    ) -> None:
        self.number = number
        self.over = False
        self.closed_with = 0
        """The reply code with which the broker has closed the line, 0 where it has not."""
        self.held: dict[int, Taken] = {}
        self.unconfirmed: dict[int, Post] = {}
        self.handed_ms: dict[str, int] = {}
        """By queue: the time at which the broker handed out the last message of it."""
        self._feature = feature
        self._send = send
        self._wall_ms = wall_ms
        self._published = 0
        self._gets: deque[str] = deque()
        """The queues of gets without an answer."""
        self._asked = -1
        self._answers = 0
        self._parser = FrameParser(_FRAME_MAX)
        self._assemblers = {0: ContentAssembler(), _CHANNEL: ContentAssembler()}
        self._handlers: dict[type[Method], Callable[[Any], None]] = {
            ConnectionStart: self._start,
            ConnectionTune: self._tune,
            ConnectionOpenOk: lambda _: self._say(_CHANNEL, ChannelOpen()),
            ChannelOpenOk: lambda _: self._set_up(),
            ConnectionClose: self._closed,
            ConnectionCloseOk: lambda _: self._has_closed(),
            ChannelClose: self._closed,
            ConnectionBlocked: lambda _: None,
            ConnectionUnblocked: lambda _: None,
            BasicAck: lambda method: self._answered_posts(method, feature.confirmed),
            BasicNack: lambda method: self._answered_posts(method, feature.nacked),
        }
        if feature.deletes_consumed:
            self._handlers[BasicCancel] = lambda _: None

    @property
    def ready(self) -> bool:
        """True when every method was answered."""
        return not self.over and self._answers == self._asked

    def begin(self) -> None:
        """Send the protocol header: the link is up."""
        self._send(PROTOCOL_HEADER)

    def receive_data(self, data: bytes, sent: int) -> None:
        """Take bytes from the broker, with the stamp of their hand-out. Raises :exc:`Violation`."""
        self._parser.receive_data(data)
        while not self.over and (frame := self._parser.next_frame()) is not None:
            if frame.type is FrameType.HEARTBEAT:
                continue
            command = self._assemblers[frame.channel].receive(frame)
            if command is not None:
                self._handle(command, sent)

    def standing(self, name: str, queues: Iterable[str]) -> Standing:
        """The client, which consumes ``queues``, and what it waits for."""
        return Standing(
            name,
            is_connected=not self.over and self._asked >= 0,
            asked=max(0, self._asked - self._answers),
            published=len(self.unconfirmed),
            handed_ms={queue: self.handed_ms.get(queue, 0) for queue in queues},
        )

    # What a client does

    def ask(self, *methods: Method) -> None:
        """Send methods with one answer each; :attr:`ready` is true when all are answered. What a
        basic.get with acks gives is held as what a consumer is handed."""
        self._asked += len(methods)
        self._gets += [
            each.queue for each in methods if isinstance(each, BasicGet) and not each.no_ack
        ]
        self._say(_CHANNEL, *methods)

    def publish(
        self,
        exchange: str,
        routing_key: str,
        post: Post,
        *,
        persistent: bool = True,
        message_id: str | None = None,
        headers: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Send a message that was posted in the ledger."""
        self._published += 1
        self.unconfirmed[self._published] = post
        properties = Properties(
            headers={"n": post.number, **headers},
            delivery_mode=PERSISTENT if persistent else None,
            message_id=message_id,
        )
        method = BasicPublish(exchange, routing_key)
        self._send(content_frames(_CHANNEL, method, properties, post.body, _FRAME_MAX))

    def ack(self, tag: int) -> Taken:
        """Take a message for good."""
        self._say(_CHANNEL, BasicAck(tag))
        return self.held.pop(tag)

    def give_back(self, tag: int, *, requeue: bool) -> Taken:
        """Requeue a message, or reject it."""
        self._say(_CHANNEL, BasicNack(tag, requeue=requeue))
        return self.held.pop(tag)

    def ack_through(self, tag: int) -> list[Taken]:
        """Take every held message up to ``tag`` for good, by one ack."""
        self._say(_CHANNEL, BasicAck(tag, multiple=True))
        return self._pop_through(tag)

    def give_back_through(self, tag: int) -> list[Taken]:
        """Requeue every held message up to ``tag``, by one nack."""
        self._say(_CHANNEL, BasicNack(tag, multiple=True, requeue=True))
        return self._pop_through(tag)

    def close(self) -> None:
        """Close the connection; :attr:`over` is true when that is answered, or the broker has
        closed it before."""
        self._asked += 1
        self._say(0, ConnectionClose())

    def _pop_through(self, tag: int) -> list[Taken]:
        return [self.held.pop(each) for each in list(self.held) if each <= tag]

    # What the broker says

    def _handle(self, command: Command, sent: int) -> None:
        method = command.method
        if isinstance(method, BasicDeliver):
            queue = method.consumer_tag.partition("/")[0]
            self._take(queue, method.consumer_tag, method, command, sent)
            return
        if self._gets and isinstance(method, BasicGetOk | BasicGetEmpty):
            queue = self._gets.popleft()
            if isinstance(method, BasicGetOk):
                self._take(queue, "", method, command, sent)
        handler = self._handlers.get(type(method))
        if handler is not None:
            handler(method)
        elif type(method).__name__.endswith("Ok") or isinstance(method, BasicGetEmpty):
            self._answers += 1
            self._feature.answered(self, method)
        else:
            raise Violation("protocol", f"a client got {method}")

    def _take(
        self,
        queue: str,
        consumer: str,
        method: BasicDeliver | BasicGetOk,
        command: Command,
        sent: int,
    ) -> None:
        headers = decode_header(command.header)[1].headers or {}
        taken = Taken(
            queue,
            consumer,
            headers.get("n", 0),
            method.redelivered,
            headers,
            self._wall_ms(sent),
        )
        self.handed_ms[queue] = taken.sent_ms
        holding = [(each.queue, each.number) for each in self.held.values()]
        post = self._feature.ledger.delivered(
            queue,
            taken.number,
            holding,
            may_be_again=self._feature.fans_out and taken.redelivered,
        )
        deaths = sum(table["count"] for table in headers.get("x-death", []))
        entry = (queue, taken.number, deaths)
        self._feature.ledger.sent(entry, sent, redelivered=taken.redelivered)
        if command.body != post.body:
            raise Violation("content", f"message {taken.number} came with another body")
        self.held[method.delivery_tag] = taken
        self._feature.delivered(self, taken)

    def _answered_posts(
        self, method: BasicAck | BasicNack, tell: Callable[[Line, Post], None]
    ) -> None:
        if method.delivery_tag not in self.unconfirmed:
            raise Violation("protocol", f"{method} is for nothing that was published")
        for sequence in list(self.unconfirmed):
            if sequence == method.delivery_tag or (
                method.multiple and sequence < method.delivery_tag
            ):
                tell(self, self.unconfirmed.pop(sequence))

    def _start(self, method: ConnectionStart) -> None:
        response = f"\0{USER}\0{USER}".encode()
        self._say(0, ConnectionStartOk({"capabilities": _CAPABILITIES}, "PLAIN", response))

    def _tune(self, method: ConnectionTune) -> None:
        frame_max = min(_FRAME_MAX, method.frame_max)
        vhost = self._feature.vhost
        self._say(0, ConnectionTuneOk(method.channel_max, frame_max, 0), ConnectionOpen(vhost))

    def _set_up(self) -> None:
        self._asked = 0
        self.ask(*self._feature.topology())

    def _closed(self, method: ChannelClose | ConnectionClose) -> None:
        if method.reply_code not in self._feature.expected_closes:
            raise Violation("protocol", f"a client was closed: {method}")
        self.closed_with = method.reply_code
        if isinstance(method, ConnectionClose):
            self._say(0, ConnectionCloseOk())
        self.over = True

    def _has_closed(self) -> None:
        self.over = True

    def _say(self, channel: int, *methods: Method) -> None:
        self._send(b"".join(method_frame(channel, method) for method in methods))
