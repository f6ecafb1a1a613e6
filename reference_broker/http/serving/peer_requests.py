"""Requests that other nodes of the cluster pass on: each is answered for what this node has.

The node that passes one on has seen to the login. The rights are judged anew, by the same table:
the definitions are those of the whole cluster.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route
from starlette.types import Message

from reference_broker.core.broker import Broker
from reference_broker.errors import AmqpError
from reference_broker.http.request.answer import (
    ApiError,
    Row,
    answer_amqp_error,
    encode,
    not_found,
)
from reference_broker.http.request.authentication import login_failed, not_authorised
from reference_broker.http.request.authorization import needs, reason_against
from reference_broker.http.request.peers import (
    BODY_BYTES_MAX,
    Asked,
    Reply,
    RowsForPeer,
    put_asked,
)
from reference_broker.http.request.turn_share import Turns, TurnShare

ROWS_S = 0.6
"""Seconds in which rows are made: the rest of the second is for their way, and for the turns of two
loops."""

ANSWER_S = 1.0
"""Seconds after which nobody waits for an answer to a GET."""

_log = logging.getLogger(__name__)


class PeerRequests:
    """Answers with ``routes``, which stand behind the checks of a form and not behind a login."""

    def __init__(
        self, broker: Callable[[], Broker], routes: Sequence[Route], share: TurnShare | None
    ) -> None:
        self._broker = broker
        self._routes = routes
        self._share = share
        self._tasks: set[asyncio.Task[None]] = set()

    def asked(self, node: str, arguments: Row, reply: Reply) -> None:
        """Answer a request that ``node`` has passed on, in a later turn of the loop."""
        task = asyncio.get_running_loop().create_task(self._answer(node, arguments, reply))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, node: str, arguments: Row, reply: Reply) -> None:
        try:
            request = self._request(node, arguments)
            limit_s = ANSWER_S if request.method == "GET" else None
            async with asyncio.timeout(limit_s):
                response = await self._response(request, arguments["user"])
                body, is_cut = await _body_of(response)
        except TimeoutError:
            reply({"failed": "it takes too long"}, b"")
        except Exception:  # noqa: BLE001 - the other node is told, and this one has it in its log
            _log.exception("a request of node %r has failed", node)
            reply({"failed": "see the log of the node that was asked"}, b"")
        else:
            reply({"status": response.status_code, "cut": is_cut}, body)

    def _request(self, node: str, arguments: Row) -> Request:
        headers = [
            (name.encode(), text.encode("latin-1")) for name, text in arguments["headers"].items()
        ]
        scope = {
            "type": "http",
            "method": arguments["method"],
            "path": arguments["path"],
            "query_string": urlencode([(name, text) for name, text in arguments["query"]]).encode(),
            "headers": headers,
        }
        body = encode(arguments["body"]) if "body" in arguments else b""
        request = Request(scope, partial(_body, body))
        until_s = asyncio.get_running_loop().time() + ROWS_S
        put_asked(request, Asked(node, until_s, arguments.get("only")))
        if self._share is not None:
            Turns(self._share, f"node {node}").put_into(scope)
        return request

    async def _response(self, request: Request, user_name: str) -> Response:
        try:
            route = self._route(request)
            self._admit(request, route, user_name)
            response: Response = await route.endpoint(request)
        except ApiError as error:
            return error.response()
        except AmqpError as error:
            return await answer_amqp_error(request, error)
        return response

    def _route(self, request: Request) -> Route:
        for route in self._routes:
            match, found = route.matches(request.scope)
            if match is Match.FULL:
                request.scope.update(found)
                return route
        raise not_found()

    def _admit(self, request: Request, route: Route, user_name: str) -> None:
        """Raises :exc:`ApiError` 401 for somebody who is not there any more, or may not."""
        broker = self._broker()
        user = broker.users.get(user_name)
        if user is None:
            raise login_failed()
        wanted = needs(request.method, route.path)
        reason = reason_against(wanted, broker, user, request.path_params.get("vhost"))
        if reason is not None:
            raise not_authorised(reason)
        request.scope["user"] = user
        request.scope["needs"] = wanted


async def _body_of(response: Response) -> tuple[bytes, bool]:
    """The octets of a response, and whether that is a part of them only."""
    if isinstance(response, RowsForPeer):
        return bytes(response.body), response.is_cut
    if not isinstance(response, StreamingResponse):
        return _bounded(bytes(response.body))
    pieces: list[bytes] = []
    size = 0
    async for piece in response.body_iterator:
        assert isinstance(piece, bytes)
        size += len(piece)
        if size > BODY_BYTES_MAX:
            return b"", True
        pieces.append(piece)
    return b"".join(pieces), False


def _bounded(body: bytes) -> tuple[bytes, bool]:
    return (b"", True) if len(body) > BODY_BYTES_MAX else (body, False)


async def _body(whole: bytes) -> Message:
    return {"type": "http.request", "body": whole, "more_body": False}
