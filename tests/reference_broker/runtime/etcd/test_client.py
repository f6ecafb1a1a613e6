"""The members in turn: the next one gets a request only if that can't carry it out twice."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from reference_broker.runtime.etcd.client import EtcdClient
from reference_broker.runtime.etcd.config import Endpoint, EtcdConfig
from reference_broker.runtime.etcd.failures import Fate, GatewayFailure
from reference_broker.testing.scripted_gateway import BREAK, Answer, ScriptedGateway, http_answer

pytestmark = pytest.mark.anyio

WITHIN_S = 20.0
YES = {"yes": True}


@pytest.fixture
async def good() -> AsyncIterator[ScriptedGateway]:
    """A member that carries out everything."""
    async with ScriptedGateway(lambda _: http_answer(YES)) as server:
        yield server


@pytest.fixture
def gone() -> Iterator[Endpoint]:
    """An address where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield Endpoint("127.0.0.1", held.getsockname()[1])


async def ask(first: Endpoint, second: Endpoint, *, repeatable: bool) -> object:
    client = EtcdClient(EtcdConfig((first, second)), None)
    try:
        return await client.ask("/v3/x", {}, WITHIN_S, repeatable=repeatable)
    finally:
        await client.close()


@pytest.mark.parametrize("repeatable", [True, False])
async def test_a_member_that_is_gone_costs_nothing(
    good: ScriptedGateway, gone: Endpoint, repeatable: bool
) -> None:
    assert await ask(gone, good.endpoint, repeatable=repeatable) == YES


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (BREAK, None),
        (http_answer({"message": "etcdserver: request timed out", "code": 14}, 503), 503),
        (http_answer({"message": "etcdserver: leader changed", "code": 14}, 503), 503),
    ],
    ids=["broken", "timed-out", "leader-changed"],
)
async def test_a_request_in_doubt_goes_on_only_if_it_is_repeatable(
    good: ScriptedGateway, answer: Answer, status: int | None
) -> None:
    async with ScriptedGateway(lambda _: answer) as first:
        with pytest.raises(GatewayFailure) as raised:
            await ask(first.endpoint, good.endpoint, repeatable=False)
        assert raised.value.fate is Fate.UNKNOWN
        assert good.requests == []
        assert await ask(first.endpoint, good.endpoint, repeatable=True) == YES
        assert len(first.requests) == 2


async def test_a_refusal_of_etcd_is_not_asked_for_again(good: ScriptedGateway) -> None:
    refusal = http_answer({"message": "etcdserver: permission denied", "code": 7}, 403)
    async with ScriptedGateway(lambda _: refusal) as first:
        with pytest.raises(GatewayFailure, match="permission denied") as raised:
            await ask(first.endpoint, good.endpoint, repeatable=True)
    assert raised.value.fate is Fate.REFUSED
    assert good.requests == []


async def test_the_one_that_answered_is_asked_first_the_next_time(
    good: ScriptedGateway, gone: Endpoint
) -> None:
    client = EtcdClient(EtcdConfig((gone, good.endpoint)), None)
    await client.ask("/v3/x", {}, WITHIN_S)
    assert client.endpoints.in_turn() == (good.endpoint, gone)
    await client.ask("/v3/x", {}, WITHIN_S, avoid=good.endpoint)
    assert client.endpoints.in_turn() == (good.endpoint, gone)
    await client.close()


async def test_all_reasons_are_told(gone: Endpoint) -> None:
    with pytest.raises(GatewayFailure) as raised:
        await ask(gone, Endpoint("127.0.0.1", gone.port), repeatable=False)
    assert raised.value.fate is Fate.ELSEWHERE
    assert raised.value.reason.count("Connection refused") == 2


async def test_a_request_is_counted_with_its_time_however_many_members_it_took(
    good: ScriptedGateway, gone: Endpoint
) -> None:
    times = iter([10.0, 10.5, 20.0, 22.0])
    client = EtcdClient(EtcdConfig((gone, good.endpoint)), None, lambda: next(times))
    await client.ask("/v3/kv/range", {}, WITHIN_S)
    assert client.counts.by_kind == {"range": (1, 0, 0.5)}
    await client.close()
    alone = EtcdClient(EtcdConfig((gone,)), None, lambda: next(times))
    with pytest.raises(GatewayFailure):
        await alone.ask("/v3/kv/txn", {}, WITHIN_S)
    assert alone.counts.by_kind == {"txn": (1, 1, 2.0)}
    await alone.close()


async def test_a_stream_is_counted_when_it_is_over() -> None:
    async with ScriptedGateway(lambda _: http_answer(YES)) as server:
        client = EtcdClient(EtcdConfig((server.endpoint,)), None)
        async with client.stream(server.endpoint, "/v3/watch", {}) as chunks:
            assert client.counts.by_kind == {}
            assert [each async for each in chunks]
        assert client.counts.by_kind["watch"][:2] == (1, 0)
        with pytest.raises(ZeroDivisionError):
            async with client.stream(server.endpoint, "/v3/watch", {}):
                raise ZeroDivisionError
        assert client.counts.by_kind["watch"][:2] == (2, 1)
        await client.close()
