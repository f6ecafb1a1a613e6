"""``X-Content-Type-Options: nosniff`` on answers of ``/api``: a name that is written like a script
must not become one in a browser that looks at JSON and guesses."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "/api/"

_HEADER = (b"x-content-type-options", b"nosniff")


class NoSniff:
    """Adds the header to all that ``app`` answers below :data:`PREFIX`, errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), _HEADER]
            await send(message)

        is_api = scope["path"].startswith(PREFIX)
        await self._app(scope, receive, with_header if is_api else send)
