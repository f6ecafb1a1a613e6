"""The management page's files: ``/`` and ``/page/...``. They are the same for everybody and hold no
data, so they need no login; all data comes through ``/api``, with the login of whoever looks.

They are read once, at the start: a path is a key of a table, and never leads to a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http import HTTPStatus
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.http.request.answer import ApiError, not_found

INDEX = "index.html"
PREFIX = "/page/"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Media types by the suffix of a file of the page. A file of another kind is not served."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
"""Only our own files run and only our own API is asked. A queue that is called like a script stays
a name even if the page made a mistake."""

_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    # Ask each time, and mostly be told 304: an upgrade of the broker is seen at the next reload.
    "cache-control": "no-cache",
}


class _File:
    """One file, as it is answered."""

    __slots__ = ("body", "headers")

    def __init__(self, name: str, body: bytes) -> None:
        self.body = body
        digest = hashlib.sha256(body).hexdigest()[:32]
        media_type = MEDIA_TYPES[_suffix(name)]
        self.headers = {**_HEADERS, "etag": f'"{digest}"', "content-type": media_type}


class Page:
    """Answers for the page's paths; the rest goes to ``app``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._files = {PREFIX + name: _File(name, body) for name, body in page_files()}
        self._files["/"] = self._files[PREFIX + INDEX]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path != "/" and not path.startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        await self._answer(path, Request(scope))(scope, receive, send)

    def _answer(self, path: str, request: Request) -> Response:
        file = self._files.get(path)
        if file is None:
            return not_found().response()
        if request.method not in ("GET", "HEAD"):
            status = HTTPStatus.METHOD_NOT_ALLOWED
            allow = {"allow": "GET, HEAD"}
            return ApiError(status, "method_not_allowed", status.phrase, allow).response()
        if _knows(request.headers.get("if-none-match", ""), file.headers["etag"]):
            headers = {name: file.headers[name] for name in (*_HEADERS, "etag")}
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        # For HEAD the server leaves the body out, and keeps its length.
        return Response(file.body, headers=file.headers)


def page_files() -> Iterator[tuple[str, bytes]]:
    """Name and octets of each file of the page."""
    for entry in files("reference_broker.page").iterdir():
        if _suffix(entry.name) in MEDIA_TYPES:
            yield entry.name, entry.read_bytes()


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]


def _knows(if_none_match: str, etag: str) -> bool:
    """True if a client's copy with ``etag`` is still good (RFC 9110, 13.1.2: a list of tags, weak
    ones too, or ``*``)."""
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in (etag, "*") for tag in tags)
