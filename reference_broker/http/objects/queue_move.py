"""``POST /api/queues/{vhost}/{name}/move``: the ready messages of one queue into another.

RabbitMQ has no such path: its own page makes a shovel, which is a plugin.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.permission import Action
from reference_broker.core.base.limits import MIB
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.transfer import Stop, Transfer
from reference_broker.errors import AmqpError, ReplyCode
from reference_broker.http.access.vhosts import vhost_of
from reference_broker.http.request.answer import ApiError, bad_request, json_response
from reference_broker.http.request.authentication import not_authorised
from reference_broker.http.request.authorization import entered
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import CoreInputs, refuse_while_short
from reference_broker.http.request.host import Host

MOVE_MESSAGES_MAX = 5_000
MOVE_BYTES_MAX = 16 * MIB
"""Bytes that one request moves at most (and the message that goes over it): the loop stands still
while messages are moved, and they are copied in the log. Whoever wants more asks again."""


class MoveRequest(NamedTuple):
    """The body of a move request."""

    destination: str
    limit: int | None
    """Messages to move; ``None`` is as many as are ready when the request comes."""

    @classmethod
    def parse(cls, body: dict[str, Any]) -> MoveRequest:
        """The move request in a JSON object. Raises :exc:`ApiError` 400."""
        destination, count = body["destination"], body.get("count")
        if not isinstance(destination, str):
            raise bad_request(["not_string", "destination"])
        if count is not None and (
            isinstance(count, bool) or not isinstance(count, int) or count < 1
        ):
            raise bad_request(["not_positive_integer", "count"])
        return cls(destination, count)


class QueueMove:
    """Moves messages on request."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def move(self, request: Request) -> Response:
        """Move messages from the head to the end of another queue of the virtual host, and answer
        when that is on disk. ``moved`` says how many, ``messages_ready`` how many are left, and
        ``stopped`` why no more: ``count`` (ask again if ``messages_ready`` is not 0), ``empty``,
        ``destination_full`` or ``queue_deleted``.

        Not idempotent: after a lost answer, look how many are left.
        """
        body = await read_object(request, ("destination",), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        wanted = MoveRequest.parse(body)
        with self._inputs.begin(request) as broker:
            refuse_while_short(broker)
            source, destination = self._queues(request, wanted.destination)
            limit = source.ready if wanted.limit is None else wanted.limit
            transfer = Transfer(source, destination, min(limit, MOVE_MESSAGES_MAX), MOVE_BYTES_MAX)
            stop = transfer.run()
            head = self._inputs.head_of(source) if stop is Stop.ABSENT else None
        while head is not None:
            await head
            with self._inputs.go_on():
                stop = transfer.run()
                head = self._inputs.head_of(source) if stop is Stop.ABSENT else None
        if transfer.moved:
            await self._inputs.on_disk()
        row = {"moved": transfer.moved, "messages_ready": source.ready, "stopped": stop.value}
        return json_response(row)

    def _queues(self, request: Request, destination: str) -> tuple[Queue, Queue]:
        """Source and destination. The user must be able to read the one, and to write to the
        default exchange, as a shovel would."""
        vhost = vhost_of(self._host.broker, request)
        name = request.path_params["queue"]
        access = entered(self._host.broker, request, vhost)
        try:
            access.require(Action.READ, "queue", name)
            access.require_publish(DEFAULT_EXCHANGE)
            source = vhost.queue_for(name, None)
        except AmqpError as error:
            if error.code is ReplyCode.NOT_FOUND:
                raise ApiError(HTTPStatus.NOT_FOUND, "not_found", error.reply_text) from error
            if error.code is ReplyCode.ACCESS_REFUSED:
                raise not_authorised(error.reply_text) from error
            raise
        if destination == name:
            raise bad_request("a queue can't be moved into itself")
        return source, vhost.queue_for(destination, None)
