"""Requests that other nodes pass on: in places of HTTP's own, within a second, and never twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from reference_broker.http.request import peers
from reference_broker.http.request.turn_share import TurnShare, next_turn
from reference_broker.http.serving import peer_requests
from reference_broker.http.serving.peer_requests import PeerRequests
from reference_broker.testing.apis.peer_apis import PeerApi, PeerApis

pytestmark = pytest.mark.anyio

PATH = "/api/overview"


async def _asked(
    node: PeerApi, endpoint: Any, share: TurnShare | None = None, **more: Any
) -> tuple[dict[str, Any], bytes]:
    """The answer of ``endpoint`` at the path, to a request that ``a`` has passed on."""
    requests = PeerRequests(lambda: node.broker, [Route(PATH, endpoint)], share)
    come: asyncio.Future[tuple[dict[str, Any], bytes]] = asyncio.get_running_loop().create_future()
    arguments = {"method": "GET", "path": PATH, "query": [], "user": "guest", "headers": {}}
    requests.asked("a", arguments | more, lambda head, body: come.set_result((head, body)))
    return await come


async def test_the_request_is_what_the_client_said() -> None:
    seen: list[Request] = []

    async def endpoint(request: Request) -> Response:
        seen.append(request)
        return Response(b"body", 201)

    query, headers = [["name", "é&x"], ["a", ""]], {"x-reason": "caf\xe9"}
    answer = await _asked(PeerApis("b")["b"], endpoint, query=query, headers=headers)
    assert answer == ({"status": 201, "cut": False}, b"body")
    (request,) = seen
    assert request.query_params.multi_items() == [("name", "é&x"), ("a", "")]
    assert request.headers["x-reason"] == "caf\xe9"
    assert await request.body() == b""
    asked = peers.asked_by(request)
    assert asked is not None
    assert (asked.node, asked.only) == ("a", None)


async def test_a_long_answer_is_put_together_or_none() -> None:
    async def endpoint(request: Request) -> Response:
        async def pieces() -> Any:
            for _ in range(10):
                yield b"x" * 100_000

        return StreamingResponse(pieces())

    node = PeerApis("b")["b"]
    assert await _asked(node, endpoint) == ({"status": 200, "cut": False}, b"x" * 1_000_000)

    async def too_long(request: Request) -> Response:
        return Response(bytes(peers.BODY_BYTES_MAX + 1))

    assert await _asked(node, too_long) == ({"status": 200, "cut": True}, b"")


async def test_nobody_waits_longer_than_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    async def endpoint(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(peer_requests, "ANSWER_S", 0.01)
    head, _ = await _asked(PeerApis("b")["b"], endpoint)
    assert head == {"failed": "it takes too long"}


async def test_a_mistake_of_ours_is_in_the_log_and_no_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def endpoint(request: Request) -> Response:
        raise ZeroDivisionError

    head, _ = await _asked(PeerApis("b")["b"], endpoint)
    assert list(head) == ["failed"]
    assert "a request of node 'a' has failed" in caplog.text


async def test_it_takes_places_of_http_in_a_lane_of_its_node() -> None:
    share = TurnShare()
    waiting: list[int] = []

    async def endpoint(request: Request) -> Response:
        asyncio.get_running_loop().call_soon(lambda: waiting.append(len(share)))
        await next_turn(request)
        return Response(b"")

    await _asked(PeerApis("b")["b"], endpoint, share)
    assert waiting == [1]
