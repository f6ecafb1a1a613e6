"""HTTP's own checks of a request: before its login, that the path is there and has the method;
after the login, that there is an answer in a form that the client takes. The order is
cowboy_rest's, so that scripts see RabbitMQ's answers:

    unknown path 404 -> unknown method 501 -> method not allowed 405 -> (login 401)
    OPTIONS 200      -> (login 401) -> not acceptable 406 -> not modified 304
                     -> media type not taken 415 -> the path itself

What HTTP itself refuses has no body. A change that a browser sends for a page of another origin is
refused before the login, which is the browser's and not the page's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.core.work.until import Agreement, NotYet
from reference_broker.http.request.answer import ApiError, Endpoint, not_agreed, not_found
from reference_broker.http.request.handlings import handlings_of
from reference_broker.http.request.media_type import Takes, is_taken, taken_at
from reference_broker.http.request.origin import refusal_of_foreign
from reference_broker.http.request.turn_share import next_turn

METHODS = ("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""The known methods, in the order in which ``allow`` names them."""

_MEDIA_RANGES = ("application/json", "application/*", "*/*", "application/bert")
"""Media ranges that an answer in JSON satisfies. BERT is RabbitMQ's alternative: a client that
takes it takes JSON."""


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
        refusal = self._refusal(path, scope["method"], Headers(scope=scope))
        if refusal is None:
            await self._app({**scope, "path": path}, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, path: str, method: str, sent: Headers) -> Response | None:
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
        foreign = refusal_of_foreign(method, sent)
        return None if foreign is None else foreign.response()

    def _allowed(self, path: str) -> frozenset[str]:
        """The methods of every route with that path; none for a path that is not there."""
        methods: set[str] = set()
        for route in self._routes:
            if route.path_regex.match(path):
                methods |= route.methods or set()
        return frozenset(methods | {"OPTIONS"}) if methods else frozenset()


def negotiated(routes: Sequence[Route]) -> list[Route]:
    """The routes, each behind the checks of an answer's form. They belong within the login
    (:func:`~reference_broker.http.request.authorization.guarded`)."""
    return [
        Route(
            route.path,
            _negotiated(route.endpoint, taken_at(route.path)),
            methods=sorted(route.methods or ()),
            name=route.name,
        )
        for route in routes
    ]


def _negotiated(endpoint: Endpoint, takes: Takes) -> Endpoint:
    """Such an endpoint; what the core can't answer yet is asked again when it can."""

    async def answered(request: Request) -> Response:
        refused = _refused(request.method, request.headers, takes)
        handlings = handlings_of(request)
        while refused is None:
            try:
                response = await endpoint(request)
            except NotYet as wait:
                happened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                wait.until.then(partial(_settle, happened))
                await happened
                if isinstance(wait.until, Agreement):
                    handlings.note(wait.until)
                    refused = _refused_by_others(wait.until)
                await next_turn(request)  # many may have waited for the same
            except ApiError as error:
                if not (handlings.has_changed and _is_gone(request, error)):
                    raise
                return Response(status_code=HTTPStatus.NO_CONTENT)
            else:
                return _as_made(request, response) if handlings.has_made else response
        return refused

    return answered


def _refused_by_others(asked: Agreement) -> Response | None:
    """The refusal of a request that the other nodes of the cluster can't be asked for."""
    if asked.failure is None:
        return None
    return not_agreed(asked.failure.text).response()


def _as_made(request: Request, response: Response) -> Response:
    """The answer to a request that has made an object, and was handled again: by then it found its
    own work done."""
    if request.method == "PUT" and response.status_code == HTTPStatus.NO_CONTENT:
        return Response(status_code=HTTPStatus.CREATED)
    return response


def _is_gone(request: Request, error: ApiError) -> bool:
    """True for the end of a deletion that was handled again after it was done: what it has deleted
    is not there, and nor is whoever has deleted himself."""
    gone = (HTTPStatus.NOT_FOUND, HTTPStatus.UNAUTHORIZED)
    return request.method == "DELETE" and error.status in gone


def _refused(method: str, headers: Headers, takes: Takes) -> Response | None:
    """The refusal of a request, if any: only JSON is spoken, nobody has a copy that is still good,
    and the body is of a type that the path takes."""
    if not _acceptable(headers.get("accept", "")):
        return Response(status_code=HTTPStatus.NOT_ACCEPTABLE)
    if method in ("GET", "HEAD") and headers.get("if-none-match") == "*":
        return Response(status_code=HTTPStatus.NOT_MODIFIED)
    if not is_taken(takes, method, headers.get("content-type")):
        return Response(status_code=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    return None


def _acceptable(accept: str) -> bool:
    ranges = [each.split(";")[0].strip().lower() for each in accept.split(",") if each.strip()]
    return not ranges or any(each in _MEDIA_RANGES for each in ranges)


def _settle(happened: asyncio.Future[None]) -> None:
    if not happened.done():  # the request may have left
        happened.set_result(None)
