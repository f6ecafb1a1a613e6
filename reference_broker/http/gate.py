"""What is decided about a request before anybody asks who sent it: is there such a path, does it
have that method. The order is cowboy_rest's, so that scripts see RabbitMQ's answers:

    unknown path 404 -> unknown method 501 -> method not allowed 405 -> (login 401)
    OPTIONS 200      -> (login 401) -> not acceptable 406 -> not modified 304 -> the path itself

What HTTP itself refuses has no body.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.http.answer import not_found

METHODS = ("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""Those that are known at all, in the order in which ``allow`` names them."""

_MEDIA_RANGES = ("application/json", "application/*", "*/*", "application/bert")
"""What an answer in JSON satisfies. BERT is RabbitMQ's alternative: who takes it takes JSON."""


class Gate:
    """The outermost layer. A trailing slash makes no difference. The path is handed on as it was
    sent: a name in it may have a slash, as ``%2F``."""

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["raw_path"].decode("ascii", "replace")
        if len(path) > 1:
            path = path.removesuffix("/")
        refusal = self._refusal(path, scope["method"])
        if refusal is None:
            await self._app({**scope, "path": path}, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, path: str, method: str) -> Response | None:
        allowed = self._allowed(path)
        if not allowed:
            return not_found().response()
        if method not in METHODS:
            return Response(status_code=HTTPStatus.NOT_IMPLEMENTED)
        headers = {"allow": ", ".join(each for each in METHODS if each in allowed)}
        if method == "OPTIONS":
            return Response(status_code=HTTPStatus.OK, headers=headers)
        if method not in allowed:
            return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers=headers)
        return None

    def _allowed(self, path: str) -> frozenset[str]:
        """The methods of every route with that path; none for a path that is not there."""
        methods: set[str] = set()
        for route in self._routes:
            if route.path_regex.match(path):
                methods |= route.methods or set()
        return frozenset(methods | {"OPTIONS"}) if methods else frozenset()


class Negotiation:
    """The layer within the login: only JSON is spoken, and nobody has a copy that is still good."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if not _acceptable(headers.get("accept", "")):
            await Response(status_code=HTTPStatus.NOT_ACCEPTABLE)(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD") and headers.get("if-none-match") == "*":
            await Response(status_code=HTTPStatus.NOT_MODIFIED)(scope, receive, send)
        elif "/" not in headers.get("content-type", "application/json"):
            await Response(status_code=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _acceptable(accept: str) -> bool:
    ranges = [each.split(";")[0].strip().lower() for each in accept.split(",") if each.strip()]
    return not ranges or any(each in _MEDIA_RANGES for each in ranges)
