"""Requests that are not answered when the server stops: what they wait for has not come."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reference_broker.http.request.answer import ApiError


class Stopping:
    """Calls ``app``. A request that the server cancels is answered 503, unless its answer has
    begun: then the connection ends within it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except asyncio.CancelledError:
            if not has_begun:
                await _STOPPING.response()(scope, receive, send)


_STOPPING = ApiError(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "stopping",
    "the broker is stopping; a change that was asked for may have been made, or not",
    {"connection": "close"},
)
