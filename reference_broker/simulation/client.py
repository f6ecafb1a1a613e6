"""A client over :mod:`mqkit.wire`: bytes in, bytes out, one connection with one channel.

It knows what a client can know: what it sent, what it was told. All of it goes to the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mqkit.wire import (
    PERSISTENT,
    PROTOCOL_HEADER,
    Command,
    ContentAssembler,
    FrameParser,
    FrameType,
    Properties,
    content_frames,
    method_frame,
)
from mqkit.wire.methods import (
    BasicAck,
    BasicConsumeOk,
    BasicDeliver,
    BasicNack,
    BasicPublish,
    BasicQosOk,
    BasicReject,
    ChannelClose,
    ChannelOpen,
    ChannelOpenOk,
    ConfirmSelectOk,
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
    ExchangeDeclareOk,
    Method,
    QueueBindOk,
    QueueDeclareOk,
)
from reference_broker.errors import ReplyCode
from reference_broker.simulation.checkers import Violation
from reference_broker.simulation.events import Delivery, Message, Settlement
from reference_broker.simulation.history import History
from reference_broker.simulation.node import USER
from reference_broker.simulation.scenario import ClientPlan

CHANNEL = 1
NUMBER_DIGITS = 10

_CAPABILITIES = {"publisher_confirms": True, "basic.nack": True, "connection.blocked": True}
_FRAME_MAX = 131_072
_SETUP_ANSWERS = (
    ConfirmSelectOk,
    ExchangeDeclareOk,
    QueueDeclareOk,
    QueueBindOk,
    BasicQosOk,
    BasicConsumeOk,
)
_EXPECTED_CLOSES = (
    ReplyCode.ACCESS_REFUSED,  # The consumer that had the queue for itself isn't gone yet.
    ReplyCode.CONNECTION_FORCED,  # A clean stop.
    ReplyCode.INTERNAL_ERROR,  # The disk failed while a declaration waited for it.
)


def number_of(body: bytes) -> int:
    """The number of the message that has this body."""
    return int(body[:NUMBER_DIGITS])


class Session:
    """One connection, from its first byte on. ``send`` puts bytes on the network.

    ``ready`` once everything of its setup was answered, ``over`` when the connection is of no more
    use; then a client goes on with a new session. ``held`` are its deliveries by tag.
    """

    def __init__(
        self,
        number: int,
        plan: ClientPlan,
        setup: Sequence[Method],
        history: History,
        send: Callable[[bytes], None],
    ) -> None:
        self.number = number
        self.over = False
        self.held: dict[int, Delivery] = {}
        self.unconfirmed: dict[int, Message] = {}
        """By publish sequence number, in its order."""
        self._plan = plan
        self._setup = setup
        self._history = history
        self._send = send
        self._answers = 0
        self._opened = False
        self._published = 0
        self._settled = 0
        self._sent = 0
        self._parser = FrameParser(_FRAME_MAX)
        self._assemblers = {0: ContentAssembler(), CHANNEL: ContentAssembler()}
        self._alone = dict(plan.consumes)
        self._handlers: dict[type[Method], Callable[[Any, Command], None]] = {
            ConnectionStart: self._start,
            ConnectionTune: self._tune,
            ConnectionOpenOk: self._connection_open,
            ChannelOpenOk: self._channel_open,
            BasicDeliver: self._deliver,
            BasicAck: self._ack,
            BasicNack: self._nack,
            ChannelClose: self._close,
            ConnectionClose: self._close,
            ConnectionBlocked: self._ignore,
            ConnectionUnblocked: self._ignore,
        }
        self._handlers |= dict.fromkeys(_SETUP_ANSWERS, self._answer)

    @property
    def ready(self) -> bool:
        """May it publish and settle? An eager one may as soon as its channel is open."""
        return not self.over and (
            self._answers == len(self._setup) or (self._opened and self._plan.eager)
        )

    # The network

    def begin(self) -> None:
        """Connected: say hello."""
        self._send(PROTOCOL_HEADER)

    def receive_data(self, data: bytes, sent: int) -> None:
        """Bytes from the broker, and the stamp of their sending. Raises :exc:`Violation` for what
        it may not send."""
        self._sent = sent
        self._parser.receive_data(data)
        while not self.over and (frame := self._parser.next_frame()) is not None:
            if frame.type is FrameType.HEARTBEAT:
                continue
            command = self._assemblers[frame.channel].receive(frame)
            if command is not None:
                handler = self._handlers.get(type(command.method))
                if handler is None:
                    raise Violation("protocol", f"a client got {command.method}")
                handler(command.method, command)

    def end(self) -> None:
        """The connection is gone, or given up. Idempotent."""
        if not self.over:
            self.over = True
            self._history.session_ended(self.number)

    # What a client does

    def publish(
        self, exchange: str, routing_key: str, queues: tuple[str, ...], size: int, persistent: bool
    ) -> bytes:
        """The frames of one message that its route leads to ``queues``; the caller sends them."""
        self._published += 1
        message = self._history.publish(self.number, queues, persistent, self._settled)
        self.unconfirmed[self._published] = message
        body = b"%0*d" % (NUMBER_DIGITS, message.number) + b"." * size
        properties = Properties(delivery_mode=PERSISTENT if persistent else None)
        method = BasicPublish(exchange, routing_key)
        return content_frames(CHANNEL, method, properties, body, self._plan.frame_max)

    def settle(self, delivery_tag: int, how: Settlement, *, multiple: bool = False) -> bytes:
        """The frame that settles one delivery, or all up to it; the caller sends it."""
        tags = [delivery_tag]
        if multiple:
            tags = [tag for tag in self.held if tag <= delivery_tag]
        for tag in tags:
            self._settled += 1
            self._history.settled(self.held.pop(tag), how)
        requeue = how is Settlement.REQUEUE
        if how is Settlement.ACK:
            return method_frame(CHANNEL, BasicAck(delivery_tag, multiple))
        if multiple:
            return method_frame(CHANNEL, BasicNack(delivery_tag, multiple, requeue))
        return method_frame(CHANNEL, BasicReject(delivery_tag, requeue))

    # What the broker says

    def _start(self, method: ConnectionStart, _: Command) -> None:
        user = USER.encode()
        response = b"\x00" + user + b"\x00" + user
        self._say(0, ConnectionStartOk({"capabilities": _CAPABILITIES}, "PLAIN", response))

    def _tune(self, method: ConnectionTune, _: Command) -> None:
        frame_max = min(self._plan.frame_max, method.frame_max)
        self._say(0, ConnectionTuneOk(method.channel_max, frame_max, 0), ConnectionOpen("/"))

    def _connection_open(self, method: ConnectionOpenOk, _: Command) -> None:
        self._say(CHANNEL, ChannelOpen())

    def _channel_open(self, method: ChannelOpenOk, _: Command) -> None:
        self._opened = True
        self._say(CHANNEL, *self._setup)

    def _answer(self, method: Method, _: Command) -> None:
        self._answers += 1

    def _deliver(self, method: BasicDeliver, command: Command) -> None:
        delivery = Delivery(
            number_of(command.body),
            method.consumer_tag,
            self.number,
            self._sent,
            method.redelivered,
            self._alone[method.consumer_tag],
            self._plan.prefetch,
        )
        self.held[method.delivery_tag] = delivery
        self._history.delivered(delivery)

    def _ack(self, method: BasicAck, _: Command) -> None:
        for message in self._take_unconfirmed(method.delivery_tag, method.multiple):
            self._history.confirmed(message)

    def _nack(self, method: BasicNack, _: Command) -> None:
        for message in self._take_unconfirmed(method.delivery_tag, method.multiple):
            self._history.nacked(message)

    def _take_unconfirmed(self, sequence: int, multiple: bool) -> list[Message]:
        if sequence not in self.unconfirmed:
            raise Violation("protocol", f"a confirm for {sequence}, which is not waiting for one")
        sequences = [sequence]
        if multiple:
            sequences = [each for each in self.unconfirmed if each <= sequence]
        return [self.unconfirmed.pop(each) for each in sequences]

    def _close(self, method: ChannelClose | ConnectionClose, _: Command) -> None:
        if method.reply_code not in _EXPECTED_CLOSES:
            raise Violation("protocol", f"a client was closed: {method}")
        if isinstance(method, ConnectionClose):
            self._say(0, ConnectionCloseOk())
        self.end()

    def _ignore(self, method: Method, _: Command) -> None:
        """The network blocks a publisher by itself."""

    def _say(self, channel: int, *methods: Method) -> None:
        self._send(b"".join(method_frame(channel, method) for method in methods))
