"""The consumer: counts deliveries by their bytes, and acks many at once.

Every delivery of a queue has the same length, so messages = bytes / length, and the broker refuses
an ack of a tag that it never gave out, so a wrong sum doesn't go unseen.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.message import CONSUMER_TAG, delivery_bytes
from mqkit_bench.session import Address, Session, receive_some

FINISH_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Subscription:
    """A queue to consume from, with the prefetch and the acks. ``ack_every`` 0 acks nothing."""

    queue: str
    body_bytes: int
    prefetch: int = 2048
    ack_every: int = 128


class Consumer:
    """A consumer on its own connection. Call :meth:`receive` when its socket is readable.

    The caller closes it: at once, which gives back what was not acked, or after
    :meth:`finish`.
    """

    def __init__(self, address: Address, subscription: Subscription) -> None:
        self.message_bytes = delivery_bytes(subscription.queue, subscription.body_bytes)
        self.ack_every = subscription.ack_every
        self.received_bytes = 0
        self.acked = 0
        self._unsent = b""
        session = Session(address)
        session.consume(subscription.queue, subscription.prefetch)
        self.socket = session.detach()

    @property
    def received(self) -> int:
        return self.received_bytes // self.message_bytes

    def close(self) -> None:
        self.socket.close()

    def receive(self) -> None:
        self.received_bytes += len(receive_some(self.socket))
        if self.ack_every and self.received - self.acked >= self.ack_every:
            self.ack()

    def ack(self) -> None:
        """Ack all that was received. Called once more at the end, for the remainder."""
        if self.received > self.acked:
            self.acked = self.received
            self._unsent += wire.method_frame(1, methods.BasicAck(self.acked, multiple=True))
        if self._unsent:
            try:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
            except BlockingIOError:
                return

    def finish(self) -> int:
        """Cancel, take what still comes, ack it, and wait until the broker has handled that.

        Returns how many messages were received and acked in all. Nothing else may be called after
        it. Raises :exc:`ConnectionError` when the sum is not one of whole messages.
        """
        self.socket.setblocking(True)
        self.socket.settimeout(FINISH_TIMEOUT_S)
        self._ask(methods.BasicCancel(CONSUMER_TAG), methods.BasicCancelOk(CONSUMER_TAG))
        if self.received_bytes % self.message_bytes:
            raise ConnectionError(
                f"received {self.received_bytes} bytes of messages of {self.message_bytes} each"
            )
        self.ack()
        close = methods.ChannelClose(reply_code=200, reply_text="", class_id=0, method_id=0)
        self._ask(close, methods.ChannelCloseOk())
        return self.acked

    def _ask(self, method: methods.Method, answer: methods.Method) -> None:
        """Send ``method`` and wait for ``answer``; the octets before the answer are deliveries."""
        self.socket.sendall(self._unsent + wire.method_frame(1, method))
        self._unsent = b""
        expected = wire.method_frame(1, answer)
        end = b""
        while end != expected:
            data = receive_some(self.socket)
            self.received_bytes += len(data)
            end = (end + data)[-len(expected) :]
        self.received_bytes -= len(expected)
