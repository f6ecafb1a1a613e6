"""Requests that change the messages of a queue which has its home on another node: its home does
what is asked for, and this node answers with what that has said."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.base.names import described
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.http.request.answer import ApiError, Row, bad_request
from reference_broker.http.request.peers import Peers, asked_by, carried_out_by, shown_node


class AtHome:
    """One at a time for each home: that takes as long for one as for a client's own request, and
    makes few answers to one node at once. One that is silent holds up no other."""

    def __init__(self, peers: Peers | None) -> None:
        self._peers = peers
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ask(self, request: Request, queue: RemoteQueue, body: Row) -> Response:
        """The answer of the home to the request, with ``body`` in the place of its own. Raises
        :exc:`ApiError`: 404 while the home is down, 503 where it does not answer, and may have done
        it or not."""
        node = queue.home.node
        if self._peers is None or asked_by(request):  # the home that the other node knows is old
            where = described("queue", queue.name, queue.env.vhost_name)
            raise bad_request(f"the home of {where} is node {shown_node(node)}: ask that one")
        async with self._turns[node]:
            if not queue.home.is_up:
                reason = f"home node '{shown_node(node)}' of the queue is down or inaccessible"
                raise ApiError(HTTPStatus.NOT_FOUND, "not_found", reason)
            return await carried_out_by(request, self._peers, node, body)
