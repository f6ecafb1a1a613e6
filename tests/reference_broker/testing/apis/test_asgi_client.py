"""asgi_client: a request comes to the application as a server would hand it on."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reference_broker.testing.apis.asgi_client import asgi_request

pytestmark = pytest.mark.anyio


async def _echo(request: Request) -> Response:
    body = (await request.body()).decode()
    names = ("authorization", "content-type", "x-reason")
    told = {name: request.headers.get(name) for name in names}
    shown = {"query": str(request.query_params), "body": body, "method": request.method, **told}
    return JSONResponse(shown, 201, {"X-Shown": "yes"})


async def test_a_request_and_its_answer() -> None:
    app = Starlette(routes=[Route("/api/{name}", _echo, methods=["GET", "POST"])])
    answer = await asgi_request(
        app, "POST", "/api/a%20b?x=1", auth=("u", "p"), headers={"X-Reason": b"why"}, json=[1]
    )
    assert (answer.status_code, answer.headers["x-shown"]) == (201, "yes")
    assert answer.json() == {
        "query": "x=1",
        "body": "[1]",
        "method": "POST",
        "authorization": "Basic dTpw",
        "content-type": "application/json",
        "x-reason": "why",
    }
    bare = await asgi_request(app, "GET", "/api/q", auth=("u", "p"))
    assert (bare.json()["body"], bare.json()["content-type"]) == ("", None)
