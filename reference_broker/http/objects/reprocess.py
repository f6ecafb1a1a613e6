"""``POST /api/queues/{vhost}/{name}/reprocess``: a queue's dead letters, back to where they died.

Our own; RabbitMQ has a shovel for it.
"""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.permission import Action
from reference_broker.core.channel.settlement import put_back
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.vhost.method_access import Access
from reference_broker.core.vhost.reprocess import reprocess
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import NotYet
from reference_broker.http.access.vhosts import vhost_of
from reference_broker.http.objects.at_home import AtHome
from reference_broker.http.objects.declaring import refusals
from reference_broker.http.request.answer import bad_request, json_response, not_found
from reference_broker.http.request.authorization import entered
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import CoreInputs, refuse_while_short
from reference_broker.http.request.host import Host
from reference_broker.http.request.turn_share import next_turn

REPROCESS_MAX = 10_000
"""Messages that one request moves at most: some seconds of work. Ask again for more."""

SLICE_MESSAGES = 100
"""Messages that are moved before the loop has its turn."""

SLICE_UNITS = 500
"""Units of work after which it has its turn sooner: one message may go to many queues."""


class Reprocessing:
    """The endpoint that reprocesses dead letters."""

    def __init__(self, host: Host, at_home: AtHome) -> None:
        self._host = host
        self._at_home = at_home
        self._inputs = CoreInputs(host)

    async def post(self, request: Request) -> Response:
        """Move ``count`` messages from the head, or all (:data:`REPROCESS_MAX` at most). Answered
        when that is on disk. A message that is no dead letter, or has no queue to go to, keeps its
        place.

        The user reads the queue, and writes to the default exchange: that is how a queue is
        reached past its own. Raises :exc:`ApiError` 401 otherwise, 503 while an alarm is on."""
        body = await read_object(request, (), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        count = body.get("count", REPROCESS_MAX)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise bad_request(["not_integer", count])
        with self._inputs.begin(request) as broker, refusals():
            refuse_while_short(broker)
            vhost = vhost_of(broker, request)
            name = request.path_params["queue"]
            if name not in vhost.queues:
                raise not_found()
            access = entered(broker, request, vhost)
            access.require(Action.READ, "queue", name)
            access.require_publish(DEFAULT_EXCHANGE)
            queue = vhost.queue_for(name, None)
        if isinstance(queue, RemoteQueue):
            return await self._at_home.ask(request, queue, {"count": count})
        returning = _Returning(queue, vhost, access, min(count, REPROCESS_MAX, queue.ready))
        try:
            await self._move(request, returning)
        except BaseException:  # the client may have gone: nothing is left with the request
            with self._inputs.go_on() as broker:
                broker.work.start(returning.given_back(), vhost.name)
            raise
        await self._inputs.perform(returning.given_back(), vhost.name)
        await self._inputs.on_disk()
        return json_response(
            {"reprocessed": returning.moved, "skipped": len(returning.kept)}, HTTPStatus.OK
        )

    async def _move(self, request: Request, returning: _Returning) -> None:
        while True:
            head = None
            with self._inputs.go_on():
                returning.slice()
                if returning.complete:
                    return
                if returning.starved:
                    head = self._inputs.head_of(returning.queue)
            if head is not None:
                await head
            await next_turn(request)


class _Returning:
    """The messages of one request: how many ``moved``, and those that are ``kept``."""

    def __init__(self, queue: Queue, vhost: VHost, access: Access, limit: int) -> None:
        self.queue = queue
        self._vhost = vhost
        self._access = access
        self._limit = limit
        self.moved = 0
        self.kept: list[Lease] = []
        self.complete = False
        self.starved = False
        """True when the next message has to be read first."""

    def given_back(self) -> Steps:
        """The steps of putting back what is kept."""
        return put_back(self.kept, failed=False)

    def slice(self) -> None:
        self.starved = False
        end = self._vhost.budget.left - SLICE_UNITS
        for _ in range(SLICE_MESSAGES):
            if self._vhost.budget.left <= end or not self._vhost.follow_letters():
                return
            if self.moved + len(self.kept) >= self._limit:
                self.complete = True
                return
            try:
                lease = self.queue.get(self)
            except NotYet:
                self.starved = True
                return
            if lease is None:
                self.starved = self.queue.ready > 0
                self.complete = not self.starved
                return
            if reprocess(lease, self._vhost, self._access):
                self.moved += 1
            else:
                self.kept.append(lease)
