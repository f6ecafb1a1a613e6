"""The end of a connection, octet by octet: what is left to the client, on either broker."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from mqkit.url import parse
from mqkit.wire import PROTOCOL_HEADER, FrameParser, decode_method, method_frame
from mqkit.wire.methods import (
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
    Method,
)

WAIT_S = 10.0
LEFT_OPEN_S = 0.5
BYE = method_frame(0, ConnectionClose(200, "bye", 0, 0))


class RawConnection:
    """A logged-in connection without a library that would close the socket by itself."""

    def __init__(self, url: str) -> None:
        endpoint = parse(url)
        self.socket = socket.create_connection((endpoint.host, endpoint.port), WAIT_S)
        self._frames = FrameParser()
        self.socket.sendall(PROTOCOL_HEADER)
        self.start = self.expect(ConnectionStart)
        self.send(ConnectionStartOk({}, "PLAIN", b"\0guest\0guest"))
        self.expect(ConnectionTune)
        self.send(ConnectionTuneOk(100, 131_072, 0), ConnectionOpen("/"))
        self.expect(ConnectionOpenOk)

    def send(self, *methods: Method) -> None:
        self.socket.sendall(b"".join(method_frame(0, method) for method in methods))

    def expect(self, kind: type[Any]) -> Any:
        while (frame := self._frames.next_frame()) is None:
            data = self.socket.recv(65_536)
            assert data, "the broker closed the socket"
            self._frames.receive_data(data)
        method = decode_method(frame.payload)
        assert isinstance(method, kind), method
        return method


@pytest.fixture
def connection(broker: Any) -> Iterator[RawConnection]:
    raw = RawConnection(broker.url)
    with closing(raw.socket):
        yield raw


def test_the_socket_is_left_to_the_client_that_closes(connection: RawConnection) -> None:
    connection.socket.sendall(BYE)
    connection.expect(ConnectionCloseOk)
    connection.socket.settimeout(LEFT_OPEN_S)
    with pytest.raises(TimeoutError):
        connection.socket.recv(1)


def test_threads_that_close_together_are_all_answered(connection: RawConnection) -> None:
    connection.socket.sendall(BYE * 8)
    for _ in range(8):
        connection.expect(ConnectionCloseOk)
