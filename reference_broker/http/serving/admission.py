"""Admission of a request whose headers are there: a slot, and a place in the loop."""

from __future__ import annotations

from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.core.base.peer import Peer
from reference_broker.http.request.answer import ApiError
from reference_broker.http.request.turn_share import Turns, TurnShare
from reference_broker.http.serving.request_slots import RequestSlots, is_check


class Admission:
    """Calls ``app`` for a request that gets a slot, in its first place of ``share``; it takes more
    with :func:`~reference_broker.http.request.turn_share.next_turn`. Others are answered 503."""

    def __init__(self, app: ASGIApp, share: TurnShare) -> None:
        self._app = app
        self._share = share
        self._slots = RequestSlots()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin, check = _origin(scope), is_check(scope["path"])
        slot = self._slots.enter(origin, check=check)
        if slot is None:
            await _BUSY.response()(scope, receive, send)
            return
        lane = f"check {origin}" if check else origin
        try:
            Turns(self._share, lane).put_into(scope)
            await self._share.turn(lane)
            await self._app(scope, receive, send)
        finally:
            slot.leave()


_BUSY = ApiError(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "busy",
    "too many requests are being answered",
    {"connection": "close"},
)


def _origin(scope: Scope) -> str:
    host, port = scope.get("client") or ("", 0)
    return Peer(host, port, "", 0).origin
