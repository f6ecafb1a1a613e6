"""Who gets in: the right name and password, from the right place, with a management tag."""

from __future__ import annotations

import base64
from http import HTTPStatus

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.http.request.answer import ApiError, answer_api_error
from reference_broker.http.request.authentication import NoCredentials, credentials, user_of
from reference_broker.http.request.authorization import guarded
from reference_broker.runtime.server import Server

HERE = ("127.0.0.1", 50_000)
ELSEWHERE = ("203.0.113.9", 50_000)
REALM = 'Basic realm="RabbitMQ Management"'


def basic(text: bytes) -> str:
    return "Basic " + base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (basic(b"guest:guest"), ("guest", b"guest")),
        (basic(b"guest:a:b"), ("guest", b"a:b")),
        (basic(b":"), ("", b"")),
        (basic(b"n:\xff"), ("n", b"\xff")),
        ("basic " + base64.b64encode(b"a:b").decode(), ("a", b"b")),
    ],
)
def test_credentials(header: str, expected: tuple[str, bytes]) -> None:
    assert credentials(header) == expected


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (basic(b"no colon"), HTTPStatus.BAD_REQUEST),
        (basic(b"\xff:x"), HTTPStatus.BAD_REQUEST),
        ("Basic %%%", HTTPStatus.BAD_REQUEST),
        ("Basic", HTTPStatus.BAD_REQUEST),
        ("Digest x", HTTPStatus.BAD_REQUEST),
        ("", HTTPStatus.UNAUTHORIZED),
    ],
)
def test_no_credentials(header: str, status: HTTPStatus) -> None:
    with pytest.raises(NoCredentials) as refused:
        credentials(header)
    response = refused.value.response
    assert (response.status_code, response.body) == (status, b"")
    assert response.headers.get("www-authenticate") == (
        REALM if status is HTTPStatus.UNAUTHORIZED else None
    )


async def behind(request: Request) -> Response:
    return PlainTextResponse(user_of(request).name)


def guarded_app() -> ASGIApp:
    users = UserStore()
    for name, tags, loopback_only in (
        ("guest", ("administrator",), True),
        ("remote", ("monitoring",), False),
        ("app", (), False),
        ("other", ("impersonator",), False),
    ):
        users.add(User(name, hash_password(b"secret", b"salt"), tags, loopback_only))
    broker = Broker(MemoryJournal(), users)
    routes = guarded([Route("/api/whoami", behind)], lambda: broker)
    return Starlette(routes=routes, exception_handlers={ApiError: answer_api_error})


async def ask(
    name: str, password: str, client: tuple[str, int], headers: dict[str, str] | None = None
) -> httpx.Response:
    transport = httpx.ASGITransport(guarded_app(), client=client)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as caller:
        return await caller.get("/api/whoami", auth=(name, password), headers=headers)


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "client"), [("guest", HERE), ("remote", ELSEWHERE)])
async def test_let_in(name: str, client: tuple[str, int]) -> None:
    answer = await ask(name, "secret", client)
    assert (answer.status_code, answer.text) == (200, name)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "password", "client", "error", "reason"),
    [
        ("guest", "wrong", HERE, "not_authorized", "Login failed"),
        ("guest", "wrong", ELSEWHERE, "not_authorized", "Login failed"),
        ("guest", "", HERE, "not_authorized", "Login failed"),
        ("nobody", "secret", HERE, "not_authorized", "Login failed"),
        ("guest", "secret", ELSEWHERE, "not_authorised", "User can only log in via localhost"),
        ("app", "secret", HERE, "not_authorised", "Not management user"),
        ("other", "secret", HERE, "not_authorised", "Not management user"),
    ],
)
async def test_kept_out(
    name: str, password: str, client: tuple[str, int], error: str, reason: str
) -> None:
    """Only a wrong login is asked for another one."""
    answer = await ask(name, password, client)
    assert answer.status_code == 401
    assert answer.json() == {"error": error, "reason": reason}
    asked = answer.headers.get("www-authenticate")
    assert asked == (REALM if error == "not_authorized" else None)


@pytest.mark.anyio
async def test_a_token_is_nobodys() -> None:
    transport = httpx.ASGITransport(guarded_app(), client=HERE)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as caller:
        answer = await caller.get("/api/whoami", headers={"authorization": "Bearer x"})
        nothing = await caller.get("/api/whoami")
        unknown = await caller.get("/api/nope")
    assert (answer.status_code, answer.json()["reason"]) == (401, "Login failed")
    assert (nothing.status_code, nothing.content) == (401, b"")
    assert unknown.status_code == 404  # before anybody is asked


@pytest.mark.anyio
async def test_an_address_that_is_claimed_counts_for_nothing() -> None:
    claims = {"x-forwarded-for": "127.0.0.1", "forwarded": "for=127.0.0.1"}
    assert (await ask("guest", "secret", ELSEWHERE, claims)).status_code == 401


@pytest.mark.anyio
async def test_the_listener_believes_no_claim_either(
    server: Server, api: httpx.AsyncClient
) -> None:
    """uvicorn would by default, for a peer on this machine."""
    answer = await api.get("/api/whoami", headers={"x-forwarded-for": "203.0.113.9"})
    assert answer.status_code == 200


@pytest.mark.anyio
async def test_nothing_is_read_of_somebody_unknown() -> None:
    """A stranger's body is not received, however large it is."""
    sent: list[str] = []

    async def send(message: object) -> None:
        sent.append(repr(message))

    async def receive() -> dict[str, object]:
        raise AssertionError("read before the login was checked")

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/whoami",
        "headers": [],
        "query_string": b"",
        "client": None,
    }
    await guarded_app()(scope, receive, send)
    assert "401" in sent[0]
