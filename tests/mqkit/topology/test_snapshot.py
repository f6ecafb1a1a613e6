"""Reading a live broker; and every way in which that fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from mqkit.errors import ConfigurationError, DeadlineExceeded, Unreachable
from mqkit.topology import compile_topology, loads, plan, take_snapshot
from mqkit.topology.planning.apply import apply
from mqkit.topology.planning.plan import Verdict

pytestmark = pytest.mark.anyio


async def test_what_was_declared_is_read_back_exactly(bench: Any) -> None:
    p = bench.prefix
    topology = loads(
        f"""
exchanges:
  {p}.in: {{type: topic, alternate: {p}.lost}}
  {p}.lost: {{type: fanout, durable: false, internal: true}}
  {p}.by: {{type: headers, bind: [{{from: {p}.in, key: "#.x"}}]}}
queues:
  {p}.q:
    bind: [{{from: {p}.in, key: "*.late"}}, {{from: {p}.by, arguments: {{x-match: all, n: 1}}}}]
    max_length: 5
    max_priority: 3
    retry: {{after: [1s, 5m]}}
  {p}.bytes: {{max_length_bytes: 9, overflow: reject-publish, arguments: {{x-queue-mode: lazy}}}}
"""
    )
    desired = compile_topology(topology)
    before = await bench.snapshot()
    assert before.declarations == ()
    await apply(plan(desired, before), bench.open_channel)
    after = await bench.snapshot()
    assert (
        set(map(repr, after.declarations)) == set(map(repr, desired))
        or not plan(desired, after, prune=True).changes
    )
    assert plan(desired, after, prune=True).count(Verdict.NO_OP) == len(desired)


async def test_what_nobody_declares_is_left_out(broker: Any) -> None:
    snapshot = await take_snapshot(broker.management_url, "/")
    assert not [
        item for item in snapshot.exchanges if item.name.startswith("amq.") or not item.name
    ]
    assert not [item for item in snapshot.bindings if not item.source]


async def test_a_wrong_password_is_said_and_not_shown(broker: Any) -> None:
    url = broker.management_url.replace("http://", "http://guest:sesame@")
    with pytest.raises(ConfigurationError, match="refused the login") as error:
        await take_snapshot(url, "/")
    assert "sesame" not in str(error.value)
    assert "guest:***@" in str(error.value)


async def test_a_wrong_vhost_is_said(broker: Any) -> None:
    with pytest.raises(ConfigurationError, match="no vhost 'nowhere'"):
        await take_snapshot(broker.management_url, "nowhere")


async def test_the_amqp_port_is_not_the_management_port(broker: Any) -> None:
    place = broker.url.rpartition("@")[2].partition("/")[0]
    # What the broker sends back may be lost in its closing of the connection.
    with pytest.raises((ConfigurationError, Unreachable), match="not the AMQP one"):
        await take_snapshot(f"http://{place}", "/")


@pytest.mark.parametrize("url", ["127.0.0.1:15672", "amqp://127.0.0.1", "http://", ""])
async def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="expected something like http://"):
        await take_snapshot(url, "/")


Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def peer(answer: Answer) -> AsyncIterator[str]:
    """Something that listens, and answers in its own way; its URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await answer(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def answering(body: bytes, status: str = "200 OK") -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        length = b"Content-Length: %d\r\n" % len(body)
        writer.write(b"HTTP/1.1 %s\r\n%s\r\n%s" % (status.encode(), length, body))
        await writer.drain()

    return answer


@pytest.mark.parametrize(
    "body",
    [
        *(b"<html>hello</html>", b"{}", b"[1]", b'[{"name": "x"}]', b"[" * 100_000),
        json.dumps([{"name": "x", "source": 5, "destination": None}]).encode(),
    ],
)
async def test_another_web_server_is_told_from_a_broker(body: bytes) -> None:
    async with peer(answering(body)) as url:
        with pytest.raises(ConfigurationError, match="not as RabbitMQ's management API does"):
            await take_snapshot(url, "/")


async def test_an_unexpected_status_is_said() -> None:
    async with peer(answering(b"", "503 Service Unavailable")) as url:
        with pytest.raises(ConfigurationError, match="HTTP status 503"):
            await take_snapshot(url, "/")


async def test_nobody_there_is_unreachable() -> None:
    async with peer(answering(b"")) as url:
        pass
    with pytest.raises(Unreachable, match="usually 15672"):
        await take_snapshot(url, "/")


async def test_silence_ends_at_the_deadline() -> None:
    released = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        await released.wait()

    async with peer(answer) as url:
        with pytest.raises(DeadlineExceeded, match=r"waited 0\.2 s"):
            await take_snapshot(url, "/", timeout_s=0.2)
        released.set()


async def test_an_answer_that_never_ends_ends_at_the_deadline_too() -> None:
    released = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not released.is_set():
            writer.write(b"1\r\n \r\n")
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await released.wait()

    async with peer(answer) as url:
        with pytest.raises(DeadlineExceeded):
            await take_snapshot(url, "/", timeout_s=0.2)
        released.set()
