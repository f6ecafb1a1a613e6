"""Requests to an ASGI application in this process, without a socket and a client library."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message


class AsgiAnswer(NamedTuple):
    """An answer, whole."""

    status_code: int
    headers: Headers
    content: bytes

    def json(self) -> Any:
        """The JSON of the answer. Raises ``ValueError``."""
        return json.loads(self.content)


async def asgi_request(
    app: ASGIApp,
    method: str,
    target: str,
    *,
    auth: tuple[str, str],
    headers: Mapping[str, str | bytes] | None = None,
    json: object = None,
) -> AsgiAnswer:
    """The answer of ``app`` to a request from this machine. ``json`` is its body, if any."""
    path, _, query = target.partition("?")
    body = b"" if json is None else _encoded(json)
    sent: dict[str, str | bytes] = {
        "host": "node",
        "authorization": b"Basic " + b64encode(":".join(auth).encode()),
    }
    if json is not None:
        sent["content-type"] = "application/json"
    sent.update(headers or {})
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), _octets(text)) for name, text in sent.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    parts: list[Message] = []
    bodies: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if bodies:
            return bodies.pop()
        await asyncio.Event().wait()  # the client stays
        raise AssertionError

    async def send(message: Message) -> None:
        parts.append(message)

    await app(scope, receive, send)
    head, *rest = parts
    content = b"".join(part.get("body", b"") for part in rest)
    return AsgiAnswer(head["status"], Headers(raw=head["headers"]), content)


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def _octets(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
