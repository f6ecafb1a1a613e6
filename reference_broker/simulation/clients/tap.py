"""A tap on a connection that takes messages without acks: it hears what the broker sends.

The broker is done with such a message when it has sent it, and it may be lost on its way: only who
stands at the broker's end knows which ones were. Others have to be acked, so the client's own
memory will do.
"""

from __future__ import annotations

from mqkit.wire import ContentAssembler, FrameParser, FrameType
from mqkit.wire.methods import BasicDeliver, BasicGetEmpty, BasicGetOk
from reference_broker.simulation.clients.client import Session
from reference_broker.simulation.clients.client_channel import ClientChannel
from reference_broker.simulation.events.marking import marks_of
from reference_broker.simulation.watch.history import History


class Tap:
    """A tap on one connection, from its first byte on. The session's memory tells which consumers
    are blind."""

    def __init__(self, session: Session, history: History) -> None:
        self._channels = {channel.number: channel for channel in session.channels}
        self._history = history
        self._parser = FrameParser(1 << 24)
        self._assemblers = {number: ContentAssembler() for number in (0, *self._channels)}
        self._answered_gets = dict.fromkeys(self._channels, 0)

    def broker_sent(self, data: bytes) -> None:
        """Take the next bytes, in the order of their sending."""
        self._parser.receive_data(data)
        while (frame := self._parser.next_frame()) is not None:
            if frame.type is FrameType.HEARTBEAT:
                continue
            command = self._assemblers[frame.channel].receive(frame)
            if command is None:
                continue
            method = command.method
            if isinstance(method, BasicDeliver):
                plan = self._channels[frame.channel].consumers[method.consumer_tag]
                if plan.no_ack:
                    self._history.sent_blindly(plan.queue, marks_of(command.header).number)
            elif isinstance(method, BasicGetOk):
                self._answer(self._channels[frame.channel], command.header)
            elif isinstance(method, BasicGetEmpty):
                self._answer(self._channels[frame.channel], b"")

    def _answer(self, channel: ClientChannel, header: bytes) -> None:
        plan = channel.gets[self._answered_gets[channel.number]]
        self._answered_gets[channel.number] += 1
        if plan.no_ack:
            self._history.blind_get_answered(plan.queue)
            if header:
                self._history.sent_blindly(plan.queue, marks_of(header).number)
