"""One client of the machine: what it sends goes in two pieces, what comes is noted."""

from __future__ import annotations

from collections import defaultdict

from fuzz.machine.channel import ChannelLedger, Delivery, Subscription
from fuzz.machine.line import Line, number_in
from mqkit.wire import ReplyCode
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicDeliver,
    BasicGetOk,
    BasicNack,
    BasicReturn,
    ChannelClose,
    ChannelCloseOk,
    ConnectionClose,
    ConnectionCloseOk,
    Method,
)
from reference_broker.testing.lone_broker import LoneBroker, Received

HandedOut = dict[Line, list[tuple[int, bool]]]
"""Messages sent to consumers, with the redelivered flag, by queue."""


class MachineClient:
    """A connection, its channels that are open, and what it was last answered."""

    def __init__(self, broker: LoneBroker, heartbeat_s: int) -> None:
        self._client = broker.client(channels=(), heartbeat_s=heartbeat_s)
        self.channels: dict[int, ChannelLedger] = {}
        self.answers: list[Method] = []
        self.returned: list[int] = []
        self.auto_acked: list[Delivery] = []
        self.broken = False

    @property
    def ended(self) -> bool:
        return self.broken or self._client.connection.closed

    def send(self, data: bytes, cut: int) -> None:
        """Send in two pieces, the first of them of ``cut`` bytes at most."""
        self.answers.clear()
        self.returned.clear()
        self._client.send_bytes(data[:cut])
        if data[cut:]:
            self._client.send_bytes(data[cut:])

    def disconnect(self) -> None:
        """The socket is gone."""
        self._client.disconnect()
        self.end()

    def end(self) -> None:
        """The connection is gone: its unacked messages go back to the queues."""
        self.broken = True
        self.channels.clear()

    def collect(self) -> HandedOut:
        """Read all that came, and answer closes."""
        handed_out: HandedOut = defaultdict(list)
        while received := self._client.received():
            for each in received:
                self._note(each, handed_out)
        if self._client.connection.closed:
            self.end()
        return handed_out

    def _note(self, received: Received, handed_out: HandedOut) -> None:
        number, method = received.channel, received.method
        self.answers.append(method)
        match method:
            case ConnectionClose():
                assert method.reply_code != ReplyCode.INTERNAL_ERROR, method
                self._client.send(0, ConnectionCloseOk())
                self.end()
            case ChannelClose():
                assert method.reply_code != ReplyCode.INTERNAL_ERROR, method
                self.channels.pop(number, None)
                self._client.send(number, ChannelCloseOk())
            case BasicReturn():
                self.returned.append(number_in(received.body))
            case _ if number in self.channels:
                self._note_on(self.channels[number], received, handed_out)

    def _note_on(self, channel: ChannelLedger, received: Received, handed_out: HandedOut) -> None:
        match received.method:
            case BasicAck(tag, multiple):
                channel.confirm(tag, multiple)
            case BasicNack():
                raise AssertionError("no queue refuses a message here")
            case BasicCancel(consumer_tag):
                channel.consumers.pop(consumer_tag, None)
            case BasicDeliver(consumer_tag, tag, redelivered):
                source = channel.consumers[consumer_tag]
                self._take(channel, source, tag, redelivered, number_in(received.body), handed_out)
            case BasicGetOk(tag, redelivered):
                assert channel.getting is not None
                source = channel.getting
                self._take(channel, source, tag, redelivered, number_in(received.body), handed_out)

    def _take(
        self,
        channel: ChannelLedger,
        source: Subscription,
        tag: int,
        redelivered: bool,
        number: int,
        handed_out: HandedOut,
    ) -> None:
        assert tag == channel.highest_tag + 1, f"delivery tag {tag} after {channel.highest_tag}"
        channel.highest_tag = tag
        before = [each for each, was_out in handed_out[source.line] if not was_out]
        if not redelivered and not source.line.leaks:
            order = list(source.line.kept)
            assert not before or order.index(before[-1]) < order.index(number), "out of order"
        handed_out[source.line].append((number, redelivered))
        delivery = Delivery(source.line, number)
        if source.no_ack:
            self.auto_acked.append(delivery)
        else:
            channel.unacked[tag] = delivery
