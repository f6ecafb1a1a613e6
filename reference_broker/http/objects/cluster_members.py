"""``/api/cluster/members``: what an operator does with a member of the cluster. Only where there is
one; RabbitMQ has no such paths.

``POST .../NODE/forget`` with ``{"accept_data_loss": true}`` does what ``rabbitmqctl
forget_cluster_node`` does.
"""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.work.until import NotYet
from reference_broker.errors import MemberStays, NoSuchMember
from reference_broker.http.request.answer import ApiError, bad_request, json_response
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs, settle
from reference_broker.http.request.handlings import handlings_of
from reference_broker.http.request.host import Host
from reference_broker.http.request.peers import Peers, member_named

BODY_BYTES_MAX = 64 * 1024

EMPTIED_S = 20.0
"""Seconds that an answer waits for the queues of a node that was forgotten to be gone: some
100,000. They go, however long that takes."""


class ClusterMembers:
    """The members of the cluster, as the node that is asked steers them."""

    def __init__(self, host: Host, peers: Peers) -> None:
        self._peers = peers
        self._inputs = CoreInputs(host)

    async def forget(self, request: Request) -> Response:
        """Have a node that is down be a member no more. ``queues`` is the number of durable queues
        that go with it, ``queues_left`` of those that are still to go. Raises :exc:`ApiError`: 404
        for no member, 409 where it has to stay."""
        body = await read_object(request, (), bytes_max=BODY_BYTES_MAX)
        accepts_loss = body.get("accept_data_loss", False)
        if not isinstance(accepts_loss, bool):
            raise bad_request("accept_data_loss must be true or false")
        shown, forgetting = request.path_params["node"], self._peers.forgetting
        node, handlings = member_named(shown), handlings_of(request)
        if not handlings.has_changed:
            with self._inputs.begin(request):
                try:
                    agreement = forgetting.forget(node, accepts_loss=accepts_loss)
                except NoSuchMember as error:
                    raise ApiError(HTTPStatus.NOT_FOUND, "not_found", str(error)) from error
                except MemberStays as error:
                    raise ApiError(HTTPStatus.CONFLICT, "conflict", str(error)) from error
                handlings.queues_lost = forgetting.durable_queues(node)
            raise NotYet(agreement)
        emptied = self._inputs.awaited()
        forgetting.when_emptied(node, partial(settle, emptied))
        await asyncio.wait((emptied,), timeout=EMPTIED_S)
        await self._inputs.defined()
        return json_response(
            {
                "name": shown,
                "queues": handlings.queues_lost,
                "queues_left": forgetting.durable_queues(node),
            }
        )
