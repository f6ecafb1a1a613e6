"""Answers that are given before anybody asks who sent a request, alike by both brokers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reference_broker.core.broker import Broker
from reference_broker.core.work.until import Agreement, NotYet, Until
from reference_broker.errors import NotAgreed, ReplyCode
from reference_broker.http.request.answer import ApiError, not_found
from reference_broker.http.request.gate import negotiated
from reference_broker.http.request.turn_share import Turns, TurnShare
from reference_broker.http.serving.app import COMPRESSED_FROM
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


class NoLogin(httpx.Auth):
    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers.pop("authorization", None)
        yield request


async def test_an_unknown_path_needs_no_login(place: Any) -> None:
    answer = await place.api.get("/api/no.such", auth=NoLogin())
    assert (answer.status_code, answer.json()["error"]) == (404, "Object Not Found")


async def test_options_need_no_login(place: Any) -> None:
    answer = await place.api.options("/api/queues/%2F/q", auth=NoLogin())
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["allow"] == "HEAD, GET, PUT, DELETE, OPTIONS"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("BREW", "whoami", {}, 501),
        ("DELETE", "queues", {}, 405),
        ("GET", "whoami", {"accept": "application/xml"}, 406),
        ("GET", "whoami", {"if-none-match": "*"}, 304),
        ("PUT", "queues/%2F/q", {"content-type": "nonsense"}, 415),
    ],
)
async def test_what_http_refuses_has_no_body(
    place: Any, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = await place.api.request(method, f"/api/{path}", headers=headers)
    assert (answer.status_code, answer.content) == (status, b"")


async def test_a_trailing_slash_makes_no_difference(place: Any) -> None:
    assert (await place.api.get("/api/queues/%2F/")).json() == (
        await place.api.get("/api/queues/%2F")
    ).json()
    assert (await place.api.put("/api/queues/%2F/", json={})).status_code == 405


async def test_the_default_virtual_host_may_come_in_a_header(place: Any) -> None:
    answer = await place.api.get("/api/queues", headers={"x-vhost": "no.such"})
    assert (answer.status_code, answer.json()) == (200, [])


async def test_a_large_answer_is_compressed_where_that_is_welcome(
    server: Server, api: httpx.AsyncClient
) -> None:
    broker: Broker = server.broker
    for number in range(COMPRESSED_FROM // 100):
        broker.vhosts["/"].declare_queue(f"q{number}")
    large = await api.get("/api/queues", headers={"accept-encoding": "gzip"})
    small = await api.get("/api/whoami", headers={"accept-encoding": "gzip"})
    plain = await api.get("/api/queues", headers={"accept-encoding": "identity"})
    assert large.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in [*small.headers, *plain.headers]
    assert large.json() == plain.json()


async def test_requests_that_waited_for_the_same_have_a_turn_each() -> None:
    share, until = TurnShare(), Until()
    handled: list[int] = []
    turn = 0

    async def handle(request: Request) -> Response:
        if not turn:
            raise NotYet(until)
        handled.append(turn)
        return Response()

    async def ask() -> None:
        scope: dict[str, Any] = {"type": "http", "method": "GET", "headers": []}
        Turns(share, "").put_into(scope)
        await route.endpoint(Request(scope))

    [route] = negotiated([Route("/wait", handle)])
    asked = [asyncio.create_task(ask()) for _ in range(5)]
    await asyncio.sleep(0)
    assert len(until) == 5
    until.happened()
    while not all(task.done() for task in asked):
        turn += 1
        await asyncio.sleep(0)
    assert len(set(handled)) == 5


@pytest.mark.parametrize(
    ("method", "is_new", "found", "answered"),
    [
        ("PUT", True, 204, 201),
        ("PUT", False, 204, 204),
        ("DELETE", False, 404, 204),
        ("GET", False, 404, 404),
    ],
)
async def test_what_other_nodes_have_agreed_on_is_answered_as_it_was_asked(
    method: str, is_new: bool, found: int, answered: int
) -> None:
    asked = Agreement(is_new=is_new)
    answer = await _handled_again(asked, method, found, is_agreed=True)
    assert answer.status_code == answered


async def test_what_somebody_else_did_is_answered_as_it_is_found() -> None:
    answer = await _handled_again(Agreement(is_new=True), "DELETE", 404, is_agreed=False)
    assert answer.status_code == 404


async def test_what_other_nodes_cannot_be_asked_for_is_refused_with_the_reason() -> None:
    asked = Agreement(is_new=True)
    asked.failure = NotAgreed(ReplyCode.INTERNAL_ERROR, "the change was not made: no etcd")
    answer = await _handled_again(asked, "PUT", 204, is_agreed=False)
    assert answer.status_code == 503
    assert json.loads(bytes(answer.body)) == {
        "error": "Service Unavailable",
        "reason": "the change was not made: no etcd",
    }


async def _handled_again(asked: Agreement, method: str, found: int, *, is_agreed: bool) -> Response:
    """The answer to a request that finds ``found`` when it is handled again."""
    times = 0

    async def handle(request: Request) -> Response:
        nonlocal times
        times += 1
        if times == 1:
            raise NotYet(asked)
        if found == 404:
            raise not_found()
        return Response(status_code=found)

    [route] = negotiated([Route("/asked", handle, methods=[method])])
    scope: dict[str, Any] = {"type": "http", "method": method, "headers": []}
    Turns(TurnShare(), "").put_into(scope)
    task: asyncio.Task[Response] = asyncio.create_task(route.endpoint(Request(scope)))
    await asyncio.sleep(0)
    asked.is_agreed = is_agreed
    asked.happened()
    try:
        answer = await task
    except ApiError as error:
        answer = error.response()
    assert times == (1 if asked.failure else 2)
    return answer
