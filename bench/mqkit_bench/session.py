"""A raw AMQP connection for the bench: a polite handshake, then a bare socket.

The slow part (login, declare, consume) goes through :mod:`mqkit.wire`; after :meth:`Session.detach`
the load generator owns the socket and writes pre-encoded frames.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TypeVar

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.message import CONSUMER_TAG, FRAME_MAX_BYTES

RECEIVE_BYTES = 1 << 18
ANSWER_TIMEOUT_S = 30.0

Answer = TypeVar("Answer", bound=methods.Method)


@dataclass(frozen=True, slots=True)
class Address:
    """A contestant's AMQP address, with the login for it and the virtual host to open."""

    host: str
    port: int
    username: str = "guest"
    password: str = "guest"
    vhost: str = "/"


class Session:
    """One blocking connection with one channel, until it is detached.

    ``timeout_s`` is how long it waits for any answer, or for the broker to read.
    """

    def __init__(self, address: Address, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self.socket = socket.create_connection((address.host, address.port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser = wire.FrameParser(frame_max=FRAME_MAX_BYTES)
        self.socket.sendall(wire.PROTOCOL_HEADER)
        start = self.expect(methods.ConnectionStart)
        self.server_properties = start.server_properties
        self._send(
            0,
            methods.ConnectionStartOk(
                client_properties={"product": "mqkit bench"},
                mechanism="PLAIN",
                response=f"\0{address.username}\0{address.password}".encode(),
                locale="en_US",
            ),
        )
        self.expect(methods.ConnectionTune)
        # No heartbeats: the generator counts bytes, and nothing else may come in between.
        self._send(0, methods.ConnectionTuneOk(2047, FRAME_MAX_BYTES, 0))
        opened = methods.ConnectionOpen(virtual_host=address.vhost)
        self.call(0, opened, methods.ConnectionOpenOk)
        self.call(1, methods.ChannelOpen(), methods.ChannelOpenOk)

    def call(self, channel: int, method: methods.Method, answer: type[Answer]) -> Answer:
        """Send a method and wait for its answer."""
        self._send(channel, method)
        return self.expect(answer)

    def declare(self, queue: str) -> None:
        """A durable queue, empty."""
        self.call(1, methods.QueueDeclare(queue=queue, durable=True), methods.QueueDeclareOk)
        self.call(1, methods.QueuePurge(queue=queue), methods.QueuePurgeOk)

    def ready(self, queue: str) -> int:
        """The number of ready messages in ``queue``."""
        declare = methods.QueueDeclare(queue=queue, passive=True)
        return self.call(1, declare, methods.QueueDeclareOk).message_count

    def delete(self, queue: str) -> None:
        self.call(1, methods.QueueDelete(queue=queue), methods.QueueDeleteOk)

    def confirms(self) -> None:
        self.call(1, methods.ConfirmSelect(), methods.ConfirmSelectOk)

    def consume(self, queue: str, prefetch: int) -> None:
        """Begin to consume. No answer is asked for, so what arrives next is the first delivery.

        Raises :exc:`ConnectionError` when there is no such queue.
        """
        self.ready(queue)
        self.call(1, methods.BasicQos(prefetch_count=prefetch), methods.BasicQosOk)
        self._send(1, methods.BasicConsume(queue=queue, consumer_tag=CONSUMER_TAG, nowait=True))

    def wait_for_delivery(self) -> None:
        """Wait for the next delivery of what was consumed; it stays unacked."""
        self.expect(methods.BasicDeliver)

    def detach(self) -> socket.socket:
        """Hand the socket over, non-blocking. The caller closes it."""
        self.socket.setblocking(False)
        return self.socket

    def close(self) -> None:
        self.socket.close()

    def _send(self, channel: int, method: methods.Method) -> None:
        self.socket.sendall(wire.method_frame(channel, method))

    def expect(self, answer: type[Answer]) -> Answer:
        """Wait for that method. Raises :exc:`ConnectionError` when the broker closes instead."""
        while True:
            frame = self._parser.next_frame()
            if frame is None:
                data = self.socket.recv(65_536)
                if not data:
                    raise ConnectionError(f"closed while waiting for {answer.__name__}")
                self._parser.receive_data(data)
                continue
            if frame.type != wire.FrameType.METHOD:
                continue
            method = wire.decode_method(frame.payload)
            if isinstance(method, answer):
                return method
            if isinstance(method, methods.ConnectionClose | methods.ChannelClose):
                raise ConnectionError(f"{method.reply_code} {method.reply_text}")


def receive_some(source: socket.socket) -> bytes:
    """The bytes that have arrived on a detached socket; none where there are none.

    Raises :exc:`ConnectionError` when the broker has closed it.
    """
    try:
        data = source.recv(RECEIVE_BYTES)
    except BlockingIOError:
        return b""
    if not data:
        raise ConnectionError("the broker closed the connection during the run")
    return data
