"""Requests to one member: the fate of each way in which one goes wrong."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import pytest

from reference_broker.runtime.etcd import gateway as gateway_module
from reference_broker.runtime.etcd.config import Endpoint
from reference_broker.runtime.etcd.failures import Fate, GatewayFailure
from reference_broker.runtime.etcd.gateway import Gateway
from reference_broker.testing.scripted_gateway import (
    BREAK,
    HANG,
    Answer,
    ScriptedGateway,
    http_answer,
)

pytestmark = pytest.mark.anyio

LONG_S = 20.0


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway(None)
    yield gateway
    await gateway.close()


async def failed(gateway: Gateway, answer: Answer, within_s: float = LONG_S) -> GatewayFailure:
    async with ScriptedGateway(lambda _: answer) as server:
        with pytest.raises(GatewayFailure) as raised:
            await gateway.ask(server.endpoint, "/v3/kv/txn", {}, "", within_s)
        assert raised.value.reason.startswith(f"etcd at {server.endpoint}: ")
        assert len(server.requests) == 1
    return raised.value


async def test_a_request_has_its_path_its_token_and_its_body(gateway: Gateway) -> None:
    async with ScriptedGateway(lambda _: http_answer({"a": 1})) as server:
        body = {"k": "v"}
        assert await gateway.ask(server.endpoint, "/v3/x", body, "tok", LONG_S) == {"a": 1}
        assert await gateway.ask(server.endpoint, "/v3/x", body, "", LONG_S) == {"a": 1}
    assert server.requests == [("/v3/x", "tok", body), ("/v3/x", "", body)]


@pytest.mark.parametrize(
    ("answer", "fate", "words"),
    [
        (BREAK, Fate.UNKNOWN, "the connection broke"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", Fate.UNKNOWN, "no answer within"),
        (b"AMQP\0\0\x09\x01", Fate.UNKNOWN, "does not speak HTTP"),
        (http_answer(b"<html>"), Fate.UNKNOWN, "there is no etcd: it is no JSON"),
        (http_answer(b"Not Found", 404), Fate.ELSEWHERE, "it answered 404, Not Found"),
        (http_answer({"message": "m", "code": 7}, 403), Fate.REFUSED, "m"),
        (http_answer(b"", 307), Fate.UNKNOWN, "it answered 307"),
    ],
    ids=["broken", "half", "no-http", "no-json", "not-found", "refused", "elsewhere"],
)
async def test_what_was_sent_is_in_doubt_unless_it_was_refused(
    gateway: Gateway, answer: Answer, fate: Fate, words: str
) -> None:
    failure = await failed(gateway, answer, 0.5)
    assert failure.fate is fate
    assert words in failure.reason


async def test_no_answer_in_time_is_in_doubt(gateway: Gateway) -> None:
    failure = await failed(gateway, HANG, 0.05)
    assert failure.fate is Fate.UNKNOWN
    assert failure.reason.endswith("no answer within 0.05 s")


async def test_a_refused_connection_is_certain(gateway: Gateway) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and does not listen
        here = Endpoint("127.0.0.1", held.getsockname()[1])
        with pytest.raises(GatewayFailure, match="Connection refused") as raised:
            await gateway.ask(here, "/v3/x", {}, "", LONG_S)
    assert raised.value.fate is Fate.ELSEWHERE


async def test_a_host_without_an_address_is_certain(gateway: Gateway) -> None:
    with pytest.raises(GatewayFailure) as raised:
        await gateway.ask(Endpoint("nothing.invalid", 2379), "/v3/x", {}, "", LONG_S)
    assert raised.value.fate is Fate.ELSEWHERE


async def test_a_connection_that_is_not_made_is_certain(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_module, "CONNECT_TIMEOUT_S", 0.2)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        here = Endpoint("127.0.0.1", full.getsockname()[1])
        with (
            socket.create_connection((here.host, here.port)),
            pytest.raises(GatewayFailure, match="no connection within") as raised,
        ):
            await gateway.ask(here, "/v3/x", {}, "", LONG_S)
    assert raised.value.fate is Fate.ELSEWHERE


async def test_an_answer_has_a_bound(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "ANSWER_OCTETS_MAX", 100)
    failure = await failed(gateway, http_answer({"a": "x" * 200}))
    assert "more than 100 octets" in failure.reason


async def test_a_stream_is_told_chunk_by_chunk_and_may_break(gateway: Gateway) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with (
        ScriptedGateway(lambda _: head + b"2\r\nab\r\n") as server,
        gateway.stream(server.endpoint, "/v3/watch", {}, "t") as chunks,
    ):
        assert await anext(chunks) == b"ab"
        server.break_all()
        with pytest.raises(GatewayFailure, match="the connection broke"):
            await anext(chunks)


async def test_a_stream_that_is_refused_is_none(gateway: Gateway) -> None:
    async with ScriptedGateway(lambda _: http_answer({"message": "m", "code": 16}, 401)) as server:
        with pytest.raises(GatewayFailure) as raised:
            async with gateway.stream(server.endpoint, "/v3/watch", {}, "t"):
                raise AssertionError
    assert raised.value.fate is Fate.TOKEN
