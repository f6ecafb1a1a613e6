"""The thread that answers probes, over real sockets: its bounds, and its end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.health.address import Address
from mqkit.health.request import HEAD_OCTETS_MAX, Answer, Request
from mqkit.health.server import CONNECTIONS_MAX, HealthServer

WAIT_S = 20
LARGE = "x" * 4_000_000


def answer(request: Request) -> Answer:
    match request.path:
        case "/large":
            return Answer(HTTPStatus.OK, LARGE)
        case "/broken":
            raise ValueError("secret")
    return Answer(HTTPStatus.OK, f"{threading.current_thread().name}\n")


@pytest.fixture
def address() -> Iterator[Address]:
    server = HealthServer(Address("127.0.0.1", 0), answer)
    yield server.start()
    server.close()


def connect(address: Address) -> socket.socket:
    connection = socket.create_connection(address, timeout=WAIT_S)
    connection.settimeout(WAIT_S)
    return connection


def received(connection: socket.socket) -> bytes:
    octets = b""
    while chunk := connection.recv(1 << 16):
        octets += chunk
    return octets


def asked(address: Address, octets: bytes) -> bytes:
    with connect(address) as connection:
        connection.sendall(octets)
        return received(connection)


def test_it_answers_on_a_thread_of_its_own(address: Address) -> None:
    found = asked(address, b"GET / HTTP/1.1\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 200 OK\r\n")
    assert found.endswith(b"\r\n\r\nmqkit health\n")
    assert asked(address, b"HEAD / HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("octets", "status"),
    [
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"405"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * HEAD_OCTETS_MAX, b"431"),
    ],
    ids=["post", "nonsense", "too many headers"],
)
def test_what_is_no_probe_has_its_answer_all_the_same(
    address: Address, octets: bytes, status: bytes
) -> None:
    """Though more was sent than is read: the answer is not lost to a reset."""
    assert asked(address, octets).split(b" ", 2)[1] == status


def test_a_slow_request_is_read_piece_by_piece_and_holds_up_nobody(address: Address) -> None:
    with connect(address) as slow:
        for piece in (b"GET / HT", b"TP/1.1\r\nHost:", b" x\r\n"):
            slow.sendall(piece)
            assert b"200 OK" in asked(address, b"GET / HTTP/1.1\r\n\r\n")
        slow.sendall(b"\r\n")
        assert b"200 OK" in received(slow)


def test_a_large_answer_arrives_whole_though_it_is_read_slowly(address: Address) -> None:
    with connect(address) as slow:
        slow.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        assert b"200 OK" in asked(address, b"GET / HTTP/1.1\r\n\r\n")
        assert received(slow).endswith(LARGE.encode())


@pytest.fixture
def impatient() -> Iterator[Address]:
    server = HealthServer(Address("127.0.0.1", 0), answer, request_time_s=0.05)
    yield server.start()
    server.close()


def test_a_request_that_does_not_come_is_answered_and_closed(impatient: Address) -> None:
    assert b" 408 " in asked(impatient, b"GET / HTTP/1.1\r\n")
    assert b" 408 " in asked(impatient, b"")


def test_one_that_never_closes_is_closed(impatient: Address) -> None:
    with connect(impatient) as stays:
        stays.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"200 OK" in received(stays)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:  # until the other side has closed, and says so
                stays.sendall(b"x")


def test_connections_are_bounded_and_places_are_given_back(address: Address) -> None:
    held = [connect(address) for _ in range(CONNECTIONS_MAX)]
    assert _until(lambda: asked_or_closed(address) == b"")
    for connection in held:
        connection.close()
    assert _until(lambda: b"200 OK" in asked_or_closed(address))


def asked_or_closed(address: Address) -> bytes:
    try:
        return asked(address, b"GET / HTTP/1.1\r\n\r\n")
    except OSError:
        return b""


def _until(holds: Any) -> bool:
    """Each look is a connection, so this neither spins nor sleeps."""
    return any(holds() for _ in range(10_000))


def test_an_answer_that_fails_is_logged_and_others_go_on(
    address: Address, caplog: pytest.LogCaptureFixture
) -> None:
    found = asked(address, b"GET /broken HTTP/1.1\r\n\r\n")
    assert b" 500 " in found
    assert b"secret" not in found
    assert "a probe of /broken could not be answered" in caplog.text
    assert b"200 OK" in asked(address, b"GET / HTTP/1.1\r\n\r\n")


def test_it_ends_with_its_connections_and_leaves_no_thread() -> None:
    server = HealthServer(Address("127.0.0.1", 0), answer)
    address = server.start()
    with connect(address) as open_still:
        open_still.sendall(b"GET ")
        server.close()
        assert asked_or_reset(open_still) == b""
    assert "mqkit health" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ConnectionRefusedError):
        connect(address)


def asked_or_reset(connection: socket.socket) -> bytes:
    try:
        return received(connection)
    except ConnectionResetError:
        return b""


def test_a_port_that_is_taken_is_one_line(address: Address) -> None:
    with pytest.raises(ConfigurationError, match="nobody can listen there"):
        HealthServer(address, answer).start()
