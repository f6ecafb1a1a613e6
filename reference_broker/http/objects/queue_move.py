"""``POST /api/queues/{vhost}/{name}/move``: the ready messages of one queue into another.

RabbitMQ has no such path: its own page makes a shovel, which is a plugin.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.permission import Action
from reference_broker.core.base.limits import MIB
from reference_broker.core.base.names import described
from reference_broker.core.exchange.deduplication_rule import DeduplicationRule
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.transfer import Stop, Transfer
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.remote.remote_transfer import RemoteTransfer, keeps_what_it_has
from reference_broker.errors import AmqpError, ReplyCode
from reference_broker.http.access.vhosts import vhost_of
from reference_broker.http.objects.at_home import AtHome
from reference_broker.http.request.answer import ApiError, Row, bad_request, json_response
from reference_broker.http.request.authentication import not_authorised
from reference_broker.http.request.authorization import entered
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import (
    DISK_TIMEOUT_S,
    CoreInputs,
    refuse_while_short,
)
from reference_broker.http.request.host import Host
from reference_broker.http.request.peers import shown_node
from reference_broker.http.request.turn_share import next_turn

MOVE_MESSAGES_MAX = 5_000
MOVE_BYTES_MAX = 16 * MIB
"""Bytes that one request moves at most (and the message that goes over it): they are copied in the
log. Whoever wants more asks again."""

INPUT_MESSAGES = 50
INPUT_BYTES = MIB
"""Messages and bytes that are moved in one input of the core: about 2 ms."""


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

    def body(self) -> Row:
        """The JSON object of such a request."""
        count = {} if self.limit is None else {"count": self.limit}
        return {"destination": self.destination, **count}


class QueueMove:
    """Moves messages on request."""

    def __init__(self, host: Host, at_home: AtHome) -> None:
        self._host = host
        self._at_home = at_home
        self._inputs = CoreInputs(host)

    async def move(self, request: Request) -> Response:
        """Move messages from the head to the end of another queue of the virtual host, and answer
        when that is on disk. ``moved`` says how many, ``messages_ready`` how many are left, and
        ``stopped`` why no more: ``count`` (ask again if ``messages_ready`` is not 0), ``empty``,
        ``destination_full``, ``destination_down`` or ``queue_deleted``.

        Not idempotent: after a lost answer, look how many are left.
        """
        body = await read_object(request, ("destination",), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        wanted = MoveRequest.parse(body)
        with self._inputs.begin(request) as broker:
            refuse_while_short(broker)
            source, destination = self._queues(request, wanted.destination)
            limit = source.ready if wanted.limit is None else wanted.limit
            count = min(limit, MOVE_MESSAGES_MAX)
        if isinstance(source, RemoteQueue):
            return await self._at_home.ask(request, source, wanted.body())
        if isinstance(destination, RemoteQueue):
            _require_movable_to(destination)
            moved, stop = await self._move_away(source, destination, count)
        else:
            moved, stop = await self._move_here(request, source, destination, count)
        if moved:
            await self._inputs.on_disk()
        row = {"moved": moved, "messages_ready": source.ready, "stopped": stop.value}
        return json_response(row)

    async def _move_here(
        self, request: Request, source: Queue, destination: Queue, count: int
    ) -> tuple[int, Stop]:
        moving = _Moving(source, destination, count)
        while True:
            head = None
            with self._inputs.go_on():
                moving.advance()
                if moving.stop is Stop.ABSENT:
                    head = self._inputs.head_of(source)
            if moving.done:
                return moving.moved, moving.stop
            if head is not None:
                await head
            await next_turn(request)

    async def _move_away(
        self, source: Queue, destination: RemoteQueue, count: int
    ) -> tuple[int, Stop]:
        transfer = RemoteTransfer(source, destination, count, MOVE_BYTES_MAX)
        try:
            async with asyncio.timeout(DISK_TIMEOUT_S):
                await self._inputs.perform(transfer.steps(), source.env.vhost_name)
        except TimeoutError:
            raise ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "not_confirmed",
                f"node {shown_node(destination.home.node)} has not answered for"
                f" {DISK_TIMEOUT_S:g} s; {transfer.moved} messages were moved, and those on their"
                " way may be",
            ) from None
        finally:
            transfer.give_up()
        assert transfer.stop is not None  # the steps have ended
        return transfer.moved, transfer.stop

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


def _require_movable_to(destination: RemoteQueue) -> None:
    """Raises :exc:`ApiError` 400 for a queue of another node that might drop what is moved, or
    something else for it."""
    where = described("queue", destination.name, destination.env.vhost_name)
    at = f"{where} at node {shown_node(destination.home.node)}"
    if DeduplicationRule.of_stored_queue(destination.arguments) is not None:
        raise bad_request(
            f"{at} drops messages that it has seen: move them at that node, from a queue of its own"
        )
    if not keeps_what_it_has(destination.limits):
        raise bad_request(
            f"{at} drops messages where there are too many bytes: move them at that node,"
            " from a queue of its own"
        )


class _Moving:
    """The move of one request, a portion at a time: ``moved`` says how far it is, and ``stop`` why
    the last portion ended."""

    def __init__(self, source: Queue, destination: Queue, limit: int) -> None:
        self._source = source
        self._destination = destination
        self._limit = limit
        self._bytes_left = MOVE_BYTES_MAX
        self.moved = 0
        self.stop = Stop.COUNT

    @property
    def done(self) -> bool:
        """True when there is nothing more to move, or nothing more may be."""
        if self.stop is Stop.COUNT:
            return self.moved >= self._limit or self._bytes_left <= 0
        return self.stop is not Stop.ABSENT

    def advance(self) -> None:
        """Move a portion, within an input."""
        count = min(self._limit - self.moved, INPUT_MESSAGES)
        size = min(self._bytes_left, INPUT_BYTES)
        transfer = Transfer(self._source, self._destination, count, size)
        self.stop = transfer.run()
        self.moved += transfer.moved
        self._bytes_left -= transfer.moved_bytes
