"""The page's files over HTTP: no login, the right headers, and nothing but the page's files."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from reference_broker.http.serving.page import MEDIA_TYPES, page_files
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@pytest.fixture
async def visitor(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody without a login."""
    url = f"http://127.0.0.1:{server.http_port}"
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


async def test_the_page_needs_no_login_and_the_data_does(visitor: httpx.AsyncClient) -> None:
    page = await visitor.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (await visitor.get("/page/index.html")).content == page.content
    assert (await visitor.get("/api/overview")).status_code == 401


async def test_every_file_is_served_with_the_policy(visitor: httpx.AsyncClient) -> None:
    names = dict(page_files())
    assert {"index.html", "style.css", "main.js", "icon.svg"} <= names.keys()
    for name, body in names.items():
        answer = await visitor.get(f"/page/{name}")
        assert (answer.status_code, answer.content) == (200, body)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["content-type"] in MEDIA_TYPES.values()


async def test_what_the_browser_has_is_not_sent_again(visitor: httpx.AsyncClient) -> None:
    first = await visitor.get("/page/main.js")
    etag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for known in (etag, f'W/{etag}, "x"', "*"):
        again = await visitor.get("/page/main.js", headers={"if-none-match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    other = await visitor.get("/page/main.js", headers={"if-none-match": '"x"'})
    assert other.status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/page/", "/page/no.js", "/page/__init__.py", "/page/../app.py", "/page/%2e%2e/app.py",
     "/page//etc/passwd", "/page/..%2fhttp%2fapp.py"],
)  # fmt: skip
async def test_nothing_else_is_there(visitor: httpx.AsyncClient, path: str) -> None:
    answer = await visitor.get(path)
    assert answer.status_code in (401, 404)


async def test_methods(visitor: httpx.AsyncClient) -> None:
    head = await visitor.head("/")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len((await visitor.get("/")).content)
    refused = await visitor.post("/")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
