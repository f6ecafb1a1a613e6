"""Requests that a browser sends for somebody else's page."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from reference_broker.http.request.origin import foreign_origin

anyio = pytest.mark.anyio

HOST = ("host", "broker.example:15672")


@pytest.mark.parametrize(
    ("headers", "origin"),
    [
        ((), None),
        ((("origin", "http://broker.example:15672"),), None),
        ((("origin", "HTTPS://Broker.Example:15672"),), None),  # TLS may end before us
        ((("origin", "http://broker.example"),), "http://broker.example"),
        ((("origin", "http://broker.example:15672.evil"),), "http://broker.example:15672.evil"),
        ((("origin", "https://evil.example"),), "https://evil.example"),
        ((("origin", "null"),), "null"),
        ((("origin", "broker.example:15672"),), "broker.example:15672"),
        ((("origin", "http://broker.example:15672"), ("origin", "null")), "null"),
        ((("sec-fetch-site", "same-origin"), ("origin", "https://proxy.example")), None),
        ((("sec-fetch-site", "none"),), None),
        ((("sec-fetch-site", "same-site"), ("origin", "http://broker.example:80")),
         "http://broker.example:80"),
        ((("sec-fetch-site", "cross-site"),), "cross-site"),
        ((("sec-fetch-site", "cross-site"), ("origin", "http://broker.example:15672")),
         "http://broker.example:15672"),
        ((("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")), "none"),
        ((("sec-fetch-site", ""),), ""),
    ],
)  # fmt: skip
def test_the_origin_of_a_request(headers: tuple[tuple[str, str], ...], origin: str | None) -> None:
    raw = [(name.encode(), value.encode()) for name, value in (HOST, *headers)]
    assert foreign_origin(Headers(raw=raw)) == origin


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("broker.example", "http://broker.example"),
        ("broker.example:80", "http://broker.example"),
        ("broker.example", "https://broker.example:443"),
        ("[::1]:15672", "http://[::1]:15672"),
    ],
)
def test_a_port_that_need_not_be_named(host: str, origin: str) -> None:
    assert foreign_origin(Headers({"host": host, "origin": origin})) is None


FOREIGN: list[dict[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:8000"},
]


@anyio
@pytest.mark.parametrize("headers", FOREIGN)
async def test_another_page_makes_nobody_an_administrator(
    api: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    """The login is right, as it is where a browser remembers it."""
    user = {"name": "evil", "password": "x", "tags": "administrator"}
    form = b'--x\r\ncontent-disposition: form-data; name="file"\r\n\r\n{}\r\n--x--\r\n'
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/definitions", {"json": {"users": [user]}}),
        ("POST", "/api/definitions", {
            "content": form, "headers": {"content-type": "multipart/form-data; boundary=x"},
        }),
        ("PUT", "/api/users/evil", {"content": b'{"password":"x","tags":"administrator"}'}),
        ("POST", "/api/exchanges/%2F/amq.topic/publish", {"data": {"routing_key": "k"}}),
        ("DELETE", "/api/vhosts/%2F", {}),
    ]  # fmt: skip
    for method, path, rest in requests:
        sent = {**rest, "headers": {**rest.get("headers", {}), **headers}}
        answer = await api.request(method, path, **sent)
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden"), path
    assert (await api.get("/api/users/evil")).status_code == 404
    assert (await api.get("/api/vhosts/%2F", headers=headers)).status_code == 200


@anyio
async def test_our_own_page_may_change_things(api: httpx.AsyncClient) -> None:
    own = str(api.base_url).rstrip("/")
    for headers in ({"origin": own}, {"origin": own, "sec-fetch-site": "same-origin"}):
        answer = await api.put("/api/vhosts/own", json={}, headers=headers)
        assert answer.status_code in (201, 204)
