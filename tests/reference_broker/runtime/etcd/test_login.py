"""The login: one token for all requests, another one when it is refused, and no password told."""

from __future__ import annotations

import asyncio

import pytest

from reference_broker.runtime.etcd.client import EtcdClient
from reference_broker.runtime.etcd.config import EtcdConfig
from reference_broker.runtime.etcd.failures import Fate, GatewayFailure
from reference_broker.testing.scripted_gateway import (
    BREAK,
    Answer,
    Request,
    ScriptedGateway,
    http_answer,
)

pytestmark = pytest.mark.anyio

PASSWORD = "geheim"
BAD_TOKEN = http_answer({"message": "etcdserver: invalid auth token", "code": 16}, 401)
WRONG = "etcdserver: authentication failed, invalid user ID or password"
NOT_ENABLED = "etcdserver: authentication is not enabled"


class Authenticating:
    """Takes the newest token alone."""

    def __init__(self) -> None:
        self.tokens = 0
        self.is_strict = True

    def __call__(self, request: Request) -> Answer:
        if request.path == "/v3/auth/authenticate":
            self.tokens += 1
            return http_answer({"token": f"t{self.tokens}"})
        good = self.is_strict and request.token == f"t{self.tokens}"
        return http_answer({"yes": True}) if good else BAD_TOKEN


def client_of(server: ScriptedGateway, user: str | None = "u") -> EtcdClient:
    password = PASSWORD if user else None
    return EtcdClient(EtcdConfig((server.endpoint,), user=user, password=password), None)


async def ask(client: EtcdClient, *, repeatable: bool = False) -> object:
    return await client.ask("/v3/x", {}, 20.0, repeatable=repeatable)


async def failure(script: Authenticating | bytes | None, user: str | None = "u") -> GatewayFailure:
    answers = script if isinstance(script, Authenticating) else lambda _: script
    async with ScriptedGateway(answers) as server:
        client = client_of(server, user)
        with pytest.raises(GatewayFailure) as raised:
            await ask(client)
        await client.close()
    assert PASSWORD not in raised.value.reason
    return raised.value


async def test_requests_at_once_wait_for_one_login() -> None:
    script = Authenticating()
    async with ScriptedGateway(script) as server:
        client = client_of(server)
        await asyncio.gather(*(ask(client) for _ in range(8)))
        await client.close()
    assert script.tokens == 1
    login = {"name": "u", "password": PASSWORD}
    assert server.requests[0] == ("/v3/auth/authenticate", "", login)


async def test_a_token_that_is_too_old_is_renewed_once() -> None:
    script = Authenticating()
    async with ScriptedGateway(script) as server:
        client = client_of(server)
        await ask(client)
        script.tokens += 1  # etcd has forgotten the one before
        assert await ask(client) == {"yes": True}
        await client.close()
    assert script.tokens == 3


async def test_a_token_that_is_always_refused_is_a_refusal() -> None:
    script = Authenticating()
    script.is_strict = False
    refused = await failure(script)
    assert refused.fate is Fate.REFUSED
    assert script.tokens == 2


async def test_a_wrong_password_is_a_refusal_that_names_the_user() -> None:
    refused = await failure(http_answer({"message": WRONG, "code": 3}, 400))
    assert refused.fate is Fate.REFUSED
    assert refused.reason.endswith(f"{WRONG} (user 'u')")


async def test_without_a_user_a_refusal_says_what_is_wanted() -> None:
    refused = await failure(
        http_answer({"message": "etcdserver: user name is empty", "code": 3}, 400), None
    )
    assert refused.fate is Fate.REFUSED
    assert refused.reason.endswith("it wants a user and a password")


@pytest.mark.parametrize("answer", [BREAK, http_answer({"token": 5})], ids=["broken", "no-token"])
async def test_a_login_in_doubt_leaves_no_request_in_doubt(answer: bytes | None) -> None:
    assert (await failure(answer)).fate is Fate.ELSEWHERE


async def test_an_etcd_that_knows_no_users_takes_everybody() -> None:
    def script(request: Request) -> Answer:
        if request.path == "/v3/auth/authenticate":
            return http_answer({"message": NOT_ENABLED, "code": 9}, 412)
        return http_answer({"yes": True})

    async with ScriptedGateway(script) as server:
        client = client_of(server)
        assert await ask(client) == {"yes": True}
        assert await ask(client) == {"yes": True}
        await client.close()
    assert [each.path for each in server.requests].count("/v3/auth/authenticate") == 1


async def test_a_stream_that_ended_logs_in_anew() -> None:
    script = Authenticating()
    async with ScriptedGateway(script) as server:
        client = client_of(server)
        for _ in range(2):
            async with client.stream(server.endpoint, "/v3/watch", {}) as chunks:
                assert [chunk async for chunk in chunks] == [b'{"yes": true}']
        await client.close()
    assert script.tokens == 2
