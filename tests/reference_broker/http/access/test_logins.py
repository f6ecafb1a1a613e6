"""Logins that are tried, and counted: on both brokers."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import aio_pika
import httpx
import pytest

pytestmark = pytest.mark.anyio

FORM = {"username": "guest", "password": "guest"}


async def paths_of(place: Any) -> tuple[str, str]:
    node = (await place.api.get("/api/overview")).json()["node"]
    path = f"/api/auth/attempts/{quote(node, safe='')}"
    return path, path + "/source"


def row(protocol: str, succeeded: int, failed: int) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "auth_attempts": succeeded + failed,
        "auth_attempts_succeeded": succeeded,
        "auth_attempts_failed": failed,
    }


async def counted(place: Any, path: str) -> dict[str, Any]:
    return {each["protocol"]: each for each in (await place.api.get(path)).json()}


@pytest.mark.parametrize("which", [0, 1])
async def test_attempts_are_counted_until_they_are_reset(place: Any, which: int) -> None:
    attempts, source = paths = await paths_of(place)
    answer = await place.api.delete(paths[which])
    assert (answer.status_code, answer.content) == (204, b"")
    assert await counted(place, attempts) == {"http": row("http", 1, 0)}
    await (await aio_pika.connect(place.url)).close()
    with pytest.raises(aio_pika.exceptions.AMQPError):
        await aio_pika.connect(place.url.replace("guest:guest", "guest:wrong"))
    assert (await place.api.get("/api/whoami", auth=("guest", "wrong"))).status_code == 401
    assert (await place.api.post("/api/login", data=FORM)).status_code == 200
    assert await counted(place, attempts) == {
        "http": row("http", 3, 1),
        "amqp091": row("amqp091", 1, 1),
    }
    assert (await place.api.get(source)).json() == []


async def test_what_is_no_attempt(place: Any) -> None:
    path, _ = await paths_of(place)
    await place.api.delete(path)
    async with httpx.AsyncClient(base_url=place.api.base_url, trust_env=False) as stranger:
        assert (await stranger.get("/api/whoami")).status_code == 401
        assert (await stranger.get("/api/auth")).status_code == 200
    assert await counted(place, path) == {"http": row("http", 1, 0)}


async def test_whoever_may_not_has_failed(place: Any) -> None:
    path, _ = await paths_of(place)
    await place.api.put("/api/users/plain", json={"password": "p", "tags": ""})
    try:
        await place.api.delete(path)
        assert (await place.api.get("/api/whoami", auth=("plain", "p"))).status_code == 401
        answer = await place.api.post("/api/login", data={"username": "plain", "password": "p"})
        assert answer.status_code == 401
        assert answer.json() == {"error": "not_authorised", "reason": "Not management user"}
        assert await counted(place, path) == {"http": row("http", 1, 2)}
    finally:
        await place.api.delete("/api/users/plain")


async def test_no_such_node(place: Any) -> None:
    for path in ("/api/auth/attempts/nope", "/api/auth/attempts/nope/source"):
        assert (await place.api.get(path)).status_code == 404


@pytest.mark.parametrize(
    "form",
    [{"username": "guest", "password": "bad"}, {"username": "guest"}, {"password": "guest"}, {}],
)
async def test_a_login_that_fails(place: Any, form: dict[str, str]) -> None:
    answer = await place.api.post("/api/login", data=form)
    assert answer.status_code == 401
    assert answer.json() == {"error": "not_authorized", "reason": "Login failed"}


async def test_a_login(place: Any) -> None:
    answer = await place.api.post("/api/login", data=FORM)
    assert (answer.status_code, answer.json()) == (200, "ok")
    assert (await place.api.get("/api/login")).status_code == 405


async def test_no_cookie_has_the_password(api: httpx.AsyncClient) -> None:
    assert "set-cookie" not in (await api.post("/api/login", data=FORM)).headers


async def test_a_form_that_is_too_large(api: httpx.AsyncClient) -> None:
    answer = await api.post("/api/login", data={**FORM, "more": "x" * 4_096})
    assert answer.status_code == 413


async def test_they_are_scraped(api: httpx.AsyncClient) -> None:
    await api.get("/api/whoami", auth=("guest", "wrong"))
    text = (await api.get("/metrics")).text
    assert 'rabbitmq_auth_attempts_failed_total{protocol="http"} 1.0' in text
