"""Requests that never come to an end, and those that take long to be answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from reference_broker.http.request.turn_share import TurnShare
from reference_broker.http.serving import timed_protocol
from reference_broker.http.serving.open_sockets import OpenSockets
from reference_broker.runtime.net.http_listener import HttpListener

pytestmark = pytest.mark.anyio

PING = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


class Echo:
    """Answers with the body that it has read, as soon as it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.got_it = asyncio.Event()
        self.disconnects = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            self.disconnects += 1
            return
        self.got_it.set()
        await self.may_answer.wait()
        await PlainTextResponse(b"got " + body)(scope, receive, send)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_protocol, "REQUEST_TIMEOUT_S", 0.02)


@pytest.fixture
async def port(echo: Echo) -> AsyncIterator[int]:
    served = HttpListener(echo)
    await served.start("127.0.0.1", 0)
    yield served.port
    await served.stop()


async def all_that_comes(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.read(), 10)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [b"", b"GET / HT", PING + b"GET / HT"])
async def test_a_request_that_does_not_arrive(port: int, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    answer = await all_that_comes(reader)
    assert answer.endswith(b"got ") if PING in sent else answer == b""
    writer.close()


@pytest.mark.usefixtures("impatient")
async def test_a_body_that_does_not_arrive(port: int, echo: Echo) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nabc")
    assert b"200 OK" not in await all_that_comes(reader)
    assert echo.disconnects == 1
    writer.close()


@pytest.mark.usefixtures("impatient")
async def test_an_answer_may_take_as_long_as_it_takes(port: int, echo: Echo) -> None:
    echo.may_answer.clear()
    slow_reader, slow = await asyncio.open_connection("127.0.0.1", port)
    slow.write(PING)
    await asyncio.wait_for(echo.got_it.wait(), 10)
    for _ in range(3):  # each of these outlives the limit
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await all_that_comes(reader) == b""
        writer.close()
    echo.may_answer.set()
    assert (await all_that_comes(slow_reader)).endswith(b"got ")
    slow.close()


CHUNKED = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"


async def exchange(port: int, data: bytes) -> bytes:
    """Send bytes, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        return await all_that_comes(reader)
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n", b"HTTP/1.1 400 "),
        (b"GET / HTTP/1.1\nhost: localhost\n\n", b"HTTP/1.1 400 "),
        (CHUNKED.replace(b"host:", b"content-length: 3\r\nhost:"), b"HTTP/1.1 400 "),
        (b"GET /" + b"%2f" * 20_000 + b" HTTP/1.1\r\n\r\n", b"HTTP/1.1 414 "),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"a:b\r\n" * 200, b"HTTP/1.1 431 "),
    ],
)
async def test_heads_that_are_refused(port: int, echo: Echo, head: bytes, answer: bytes) -> None:
    assert (await exchange(port, head)).startswith(answer)
    # The second request of a socket is judged as the first one is, behind chunks as well.
    for first in (PING, CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"):
        answers = await exchange(port, first + head)
        assert answers.startswith(b"HTTP/1.1 200 ")
        assert answers.count(b"HTTP/1.1 ") == 2
        assert answer in answers


async def test_requests_that_follow_each_other_without_waiting(port: int) -> None:
    body = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n"
    chunked = CHUNKED + b"3\r\nxyz\r\n0\r\n\r\n"
    last = PING.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    answers = await exchange(port, body + b"abc" + chunked + PING + chunked + body + b"def" + last)
    assert [each.partition(b"HTTP")[0] for each in answers.split(b"\r\n\r\ngot ")[1:]] == [
        b"abc", b"xyz", b"", b"xyz", b"def", b"",
    ]  # fmt: skip


async def test_a_large_body(port: int) -> None:
    body = bytes(range(256)) * 8_192
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    assert (await exchange(port, head % len(body) + body)).endswith(b"got " + body)
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(c), c) for c in (body[i : i + 999] for i in range(0, len(body), 999))
    )
    head = CHUNKED.replace(b"host:", b"connection: close\r\nhost:")
    assert (await exchange(port, head + chunks + b"0\r\n\r\n")).endswith(b"got " + body)


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closing = self.aborted = False
        self.reads = True

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("10.0.0.1", 1) if name.endswith("name") else default

    def is_reading(self) -> bool:
        return self.reads

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: object) -> None:
        self.written += data  # type: ignore[operator]

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True


class Fed(timed_protocol.TimedProtocol):
    """Notes how much h11 is given in each place."""

    def __init__(self, share: TurnShare) -> None:
        config = uvicorn.Config(
            self.app_of,
            http=H11Protocol,
            interface="asgi3",
            log_config=None,
            proxy_headers=False,
            h11_max_incomplete_event_size=timed_protocol.INCOMPLETE_BYTES_MAX,
        )
        config.load()
        super().__init__(config, ServerState(), {}, timed_protocol.Shares(share, OpenSockets()))
        self.given: list[int] = []
        self.asked = 0
        self.on = Transport()
        self.connection_made(self.on)

    def handle_events(self) -> None:
        self.given.append(len(self.conn.trailing_data[0]))
        super().handle_events()

    async def app_of(self, scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(b"got " + await Request(scope, receive).body())(
            scope, receive, send
        )


async def test_nothing_is_parsed_outside_of_a_place() -> None:
    share = TurnShare()
    fed = Fed(share)
    fed.data_received(PING)
    assert fed.given == []
    assert len(share) == 1
    assert not fed.on.reads
    await share.turn("10.0.0.1")
    await share.turn("10.0.0.1")
    assert fed.given[0] == len(PING)


async def test_tiny_chunks_are_parsed_in_portions() -> None:
    share = TurnShare()
    fed = Fed(share)
    fed.data_received(CHUNKED + b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n")
    while not fed.on.written.endswith(b"got " + b"x" * 40_000):
        await share.turn("10.0.0.1")
    assert max(fed.given[1:]) <= 4 * timed_protocol.CHUNK_LINES_PER_PORTION
    fed.connection_lost(None)


async def test_an_early_answer_to_a_body_in_chunks_ends_the_socket() -> None:
    share = TurnShare()
    fed = Fed(share)
    fed.app = refuse
    fed.data_received(CHUNKED + b"3\r\nabc\r\n")
    while not fed.on.written:
        await share.turn("10.0.0.1")
    assert fed.on.closing


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("no", 401)(scope, receive, send)


async def test_a_body_that_is_no_http_when_the_answer_has_begun() -> None:
    share = TurnShare()
    fed = Fed(share)
    fed.app = begin_to_answer
    fed.data_received(CHUNKED)
    while not fed.on.written:
        await share.turn("10.0.0.1")
    fed.data_received(b"no size\r\n")
    while not fed.on.aborted:
        await share.turn("10.0.0.1")
    fed.connection_lost(None)


async def begin_to_answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"abc", "more_body": True})
    await Request(scope, receive).body()


async def test_an_early_answer_to_a_body_of_known_length() -> None:
    share = TurnShare()
    fed = Fed(share)
    fed.app = refuse
    fed.data_received(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 6\r\n\r\nabc")
    while not fed.on.written:
        await share.turn("10.0.0.1")
    fed.data_received(b"def" + PING)
    while fed.on.written.count(b"HTTP/1.1 401") < 2:
        await share.turn("10.0.0.1")
    assert not fed.on.closing
    fed.connection_lost(None)


async def test_an_answer_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_protocol, "ANSWER_STALL_S", 0)
    fed = Fed(TurnShare())
    fed.pause_writing()
    fed.resume_writing()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not fed.on.aborted
    fed.pause_writing()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert fed.on.aborted
    fed.connection_lost(None)


async def test_a_socket_that_makes_room() -> None:
    fed = Fed(TurnShare())
    assert fed.is_waiting
    fed.make_room()
    assert fed.on.aborted
    fed.connection_lost(None)


async def test_trailers_are_bounded() -> None:
    share = TurnShare()
    fed = Fed(share)
    fed.data_received(CHUNKED + b"0\r\n" + b"a:b\r\n" * 2_000 + b"\r\n")
    while not fed.on.closing:
        await share.turn("10.0.0.1")
    assert fed.on.written.startswith(b"HTTP/1.1 400 ")
    fed.connection_lost(None)
