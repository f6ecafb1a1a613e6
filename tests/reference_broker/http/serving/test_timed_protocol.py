"""Requests that never come to an end, and those that take long to be answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from reference_broker.http.serving import timed_protocol
from reference_broker.http.serving.listener import HttpListener

pytestmark = pytest.mark.anyio

PING = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


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
async def port(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(timed_protocol, "REQUEST_TIMEOUT_S", 0.02)
    served = HttpListener(echo)
    await served.start("127.0.0.1", 0)
    yield served.port
    await served.stop()


async def all_that_comes(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.read(), 10)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", PING + b"GET / HT"])
async def test_a_request_that_does_not_arrive(port: int, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    answer = await all_that_comes(reader)
    assert answer.endswith(b"got ") if PING in sent else answer == b""
    writer.close()


async def test_a_body_that_does_not_arrive(port: int, echo: Echo) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nabc")
    assert b"200 OK" not in await all_that_comes(reader)
    assert echo.disconnects == 1
    writer.close()


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
