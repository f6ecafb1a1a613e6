"""Asking for names: answers, and all that is no answer in time."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from mqkit_cli.completion.asking import Names, names, within
from mqkit_cli.completion.names import ANSWER_BYTES_MAX, EXCHANGES, PARKING_LOTS, QUEUES, VHOSTS

LONG_S = 60.0
"""For an answer that is to come, however busy the machine is."""

SHORT_S = 0.05
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does this with each connection, on a free port; its URL."""

    def run() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    serve(connection)
                except OSError:  # the client has gone
                    continue

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=run, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_the_names_that_a_broker_has(broker: Any, unique: Callable[[str], str]) -> None:
    base = unique("q")
    queues = [unique(name) for name in ("q.2", "q.1", "q.1.parked", "q 3")]
    exchange = unique("q.x")
    with httpx.Client(
        base_url=broker.management_url, auth=("guest", "guest"), trust_env=False
    ) as api:
        for name in queues:
            assert api.put(f"/api/queues/%2F/{quote(name)}", json={}).is_success
        assert api.put(f"/api/exchanges/%2F/{exchange}", json={"type": "topic"}).is_success

    def asked(wanted: Names) -> list[str]:
        return names(wanted, broker.management_url, None, LONG_S)

    assert asked(Names(QUEUES, base)) == [f"{base}.1", f"{base}.1.parked", f"{base}.2"]
    assert asked(Names(QUEUES, f"{base}.2", "/")) == [f"{base}.2"]
    assert asked(Names(PARKING_LOTS, base)) == [f"{base}.1.parked"]
    assert asked(Names(PARKING_LOTS, f"{base}.1.par")) == [f"{base}.1.parked"]
    assert asked(Names(EXCHANGES, base)) == [exchange]
    assert "/" in asked(Names(VHOSTS, ""))
    assert asked(Names(QUEUES, base, "no such vhost")) == []


@pytest.mark.parametrize(
    ("management_url", "url"),
    [
        ("http://127.0.0.1:1", None),
        ("nonsense", None),
        ("http://a:b/c@127.0.0.1:1", None),
        ("http://127.0.0.1:1", "amqp://[half"),
    ],
)
def test_where_nobody_is_there_are_no_names(
    management_url: str, url: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert names(Names(QUEUES, ""), management_url, url, LONG_S) == []
    assert capfd.readouterr() == ("", "")


def test_a_refused_login_gives_no_names(reference_broker: Any) -> None:
    wrong = reference_broker.management_url.replace("://", "://guest:wrong@")
    assert names(Names(VHOSTS, ""), wrong, None, LONG_S) == []


def test_a_server_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert names(Names(QUEUES, ""), place, None, SHORT_S) == []


def test_a_server_that_answers_by_drops() -> None:
    """A timeout of the socket would begin anew with each."""
    stopped = Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        while not stopped.wait(SHORT_S / 10):
            connection.sendall(b"x: y\r\n")

    with server(drip) as place:
        assert names(Names(QUEUES, ""), place, None, SHORT_S) == []
        stopped.set()


@pytest.mark.parametrize(
    ("size", "expected"), [(ANSWER_BYTES_MAX, ["q"]), (ANSWER_BYTES_MAX + 1, [])]
)
def test_an_answer_is_bounded(size: int, expected: list[str]) -> None:
    body = json.dumps([{"name": "q"}]).encode().ljust(size)

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)

    with server(serve) as place:
        assert names(Names(QUEUES, ""), place, None, LONG_S) == expected


def test_an_answer_that_comes_too_late_is_none() -> None:
    released = Event()

    def ask() -> list[str]:
        released.wait()
        return ["late"]

    assert within(SHORT_S, ask) == []
    released.set()


def test_an_answer_that_fails_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    def ask() -> list[str]:
        raise RuntimeError("secret")

    assert within(LONG_S, ask) == []
    assert within(LONG_S, lambda: ["in time"]) == ["in time"]
    assert capfd.readouterr() == ("", "")
