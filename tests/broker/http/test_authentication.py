"""Who gets in: the right name and password, from the right place, with a management tag."""

from __future__ import annotations

import base64

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.core.users import User, UserStore, hash_password
from reference_broker.http.authentication import MANAGEMENT_TAGS, Authentication, credentials
from reference_broker.runtime.server import Server

HERE = ("127.0.0.1", 50_000)
ELSEWHERE = ("203.0.113.9", 50_000)


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
        (basic(b"no colon"), None),
        (basic(b"\xff:x"), None),
        ("Basic %%%", None),
        ("Basic", None),
        ("Bearer x", None),
        ("", None),
    ],
)
def test_credentials(header: str, expected: tuple[str, bytes] | None) -> None:
    assert credentials(header) == expected


async def behind(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(scope["user"].name)(scope, receive, send)


def guarded() -> ASGIApp:
    users = UserStore()
    for name, tags, loopback_only in (
        ("guest", ("administrator",), True),
        ("remote", ("monitoring",), False),
        ("app", (), False),
        ("other", ("impersonator",), False),
    ):
        users.add(User(name, hash_password(b"secret", b"salt"), tags, loopback_only))
    return Authentication(behind, users)


async def ask(
    name: str, password: str, client: tuple[str, int], headers: dict[str, str] | None = None
) -> httpx.Response:
    transport = httpx.ASGITransport(guarded(), client=client)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as caller:
        return await caller.get("/", auth=(name, password), headers=headers)


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "client"), [("guest", HERE), ("remote", ELSEWHERE)])
async def test_let_in(name: str, client: tuple[str, int]) -> None:
    answer = await ask(name, "secret", client)
    assert (answer.status_code, answer.text) == (200, name)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "password", "client", "reason"),
    [
        ("guest", "wrong", HERE, "Login failed"),
        ("nobody", "secret", HERE, "Login failed"),
        ("guest", "secret", ELSEWHERE, "Login failed"),
        ("app", "secret", HERE, "Not management user"),
        ("other", "secret", HERE, "Not management user"),
    ],
)
async def test_kept_out(name: str, password: str, client: tuple[str, int], reason: str) -> None:
    answer = await ask(name, password, client)
    assert answer.status_code == 401
    assert answer.json() == {"error": "not_authorized", "reason": reason}
    assert answer.headers["www-authenticate"].startswith("Basic realm=")


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


def test_the_tags_are_rabbitmqs() -> None:
    assert set(MANAGEMENT_TAGS) == {"management", "policymaker", "monitoring", "administrator"}


@pytest.mark.anyio
async def test_nothing_is_read_of_somebody_unknown() -> None:
    """A stranger's body is not received, however large it is."""
    sent: list[str] = []

    async def send(message: object) -> None:
        sent.append(repr(message))

    async def receive() -> dict[str, object]:
        raise AssertionError("read before the login was checked")

    scope: Scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "client": None}
    await guarded()(scope, receive, send)
    assert "401" in sent[0]
