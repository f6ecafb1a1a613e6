"""A raw AMQP connection for the bench: a polite handshake, then a bare socket.

The slow part (login, declare, consume) goes through :mod:`mqkit.wire`; after :meth:`Session.detach`
the load generator owns the socket and writes pre-encoded frames.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from mqkit import wire
from mqkit.wire import methods

FRAME_MAX_BYTES = 131_072
SOCKET_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Address:
    """Where a contestant listens for AMQP, with the login that it knows."""

    host: str
    port: int
    username: str = "guest"
    password: str = "guest"


class Session:
    """One blocking connection with one channel, until it is detached."""

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection((address.host, address.port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser = wire.FrameParser(frame_max=FRAME_MAX_BYTES)
        self.socket.sendall(wire.PROTOCOL_HEADER)
        self._expect(methods.ConnectionStart)
        self._send(
            0,
            methods.ConnectionStartOk(
                client_properties={"product": "mqkit bench"},
                mechanism="PLAIN",
                response=f"\0{address.username}\0{address.password}".encode(),
                locale="en_US",
            ),
        )
        self._expect(methods.ConnectionTune)
        # No heartbeats: the generator counts bytes, and nothing else may come in between.
        self._send(0, methods.ConnectionTuneOk(2047, FRAME_MAX_BYTES, 0))
        self.call(0, methods.ConnectionOpen(virtual_host="/"), methods.ConnectionOpenOk)
        self.call(1, methods.ChannelOpen(), methods.ChannelOpenOk)

    def call(self, channel: int, method: methods.Method, answer: type[methods.Method]) -> None:
        """Send a method and wait for its answer."""
        self._send(channel, method)
        self._expect(answer)

    def declare(self, queue: str) -> None:
        """A durable queue, empty."""
        self.call(1, methods.QueueDeclare(queue=queue, durable=True), methods.QueueDeclareOk)
        self.call(1, methods.QueuePurge(queue=queue), methods.QueuePurgeOk)

    def delete(self, queue: str) -> None:
        self.call(1, methods.QueueDelete(queue=queue), methods.QueueDeleteOk)

    def confirms(self) -> None:
        self.call(1, methods.ConfirmSelect(), methods.ConfirmSelectOk)

    def consume(self, queue: str, prefetch: int, tag: str) -> None:
        self.call(1, methods.BasicQos(prefetch_count=prefetch), methods.BasicQosOk)
        consume = methods.BasicConsume(queue=queue, consumer_tag=tag)
        self.call(1, consume, methods.BasicConsumeOk)

    def detach(self) -> socket.socket:
        """Hand the socket over, non-blocking. The caller closes it."""
        self.socket.setblocking(False)
        return self.socket

    def close(self) -> None:
        self.socket.close()

    def _send(self, channel: int, method: methods.Method) -> None:
        self.socket.sendall(wire.method_frame(channel, method))

    def _expect(self, answer: type[methods.Method]) -> None:
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
                return
            if isinstance(method, methods.ConnectionClose | methods.ChannelClose):
                raise ConnectionError(f"{method.reply_code} {method.reply_text}")
