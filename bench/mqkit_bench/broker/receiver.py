"""The receiver: counts deliveries on one connection by their bytes, and acks many at once."""

from __future__ import annotations

import socket

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.message import FRAME_MAX_BYTES
from mqkit_bench.session import receive_some

FINISH_TIMEOUT_S = 60.0
_CLOSE = wire.method_frame(
    1, methods.ChannelClose(reply_code=200, reply_text="", class_id=0, method_id=0)
)
_CLOSE_OK = wire.method_frame(1, methods.ChannelCloseOk())


class Receiver:
    """Every delivery has ``message_bytes``. The broker refuses an ack of a tag that it never gave
    out, so a wrong sum doesn't go unseen. The caller closes it.
    """

    def __init__(self, connection: socket.socket, message_bytes: int, ack_every: int) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.message_bytes = message_bytes
        self.ack_every = ack_every
        self.acked = 0
        self._received_bytes = 0
        self._unsent = b""

    @property
    def received(self) -> int:
        return self._received_bytes // self.message_bytes

    @property
    def is_whole(self) -> bool:
        """True when only whole messages have come, and all acks are written."""
        return not (self._received_bytes % self.message_bytes or self._unsent)

    def learn(self) -> None:
        """Wait for the first delivery and take its length for that of all."""
        self.socket.setblocking(True)
        self.socket.settimeout(FINISH_TIMEOUT_S)
        parser = wire.FrameParser(frame_max=FRAME_MAX_BYTES)
        content = wire.ContentAssembler()
        size = 0
        while True:
            frame = parser.next_frame()
            if frame is None:
                parser.receive_data(receive_some(self.socket))
                continue
            size += wire.FRAME_OVERHEAD + len(frame.payload)
            if content.receive(frame) is not None:
                break
        self.message_bytes = self._received_bytes = size
        self.socket.setblocking(False)

    def receive(self) -> None:
        """Call when the socket is readable. Raises :exc:`ConnectionError` when it was closed."""
        self._received_bytes += len(receive_some(self.socket))

    def ack(self, messages: int) -> None:
        """Ack the first ``messages`` of all that came; nothing where the broker awaits no acks."""
        if self.ack_every and messages > self.acked:
            self.acked = messages
            self._unsent += wire.method_frame(1, methods.BasicAck(messages, multiple=True))
        if self._unsent:
            try:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
            except BlockingIOError:
                return

    def finish(self) -> None:
        """Close the channel, and wait until the broker has: it has handled all acks then, and what
        was not acked is back in its queue. Deliveries that still come are not counted."""
        self.socket.setblocking(True)
        self.socket.settimeout(FINISH_TIMEOUT_S)
        self.socket.sendall(self._unsent + _CLOSE)
        end = b""
        while end != _CLOSE_OK:
            end = (end + receive_some(self.socket))[-len(_CLOSE_OK) :]

    def close(self) -> None:
        self.socket.close()
