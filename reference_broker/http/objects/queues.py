"""``/api/queues``: listing, declaring and deleting queues, getting messages out of one, purging
it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.permission import Action
from reference_broker.core.base.limits import MIB
from reference_broker.core.broker import Broker
from reference_broker.core.channel.settlement import put_back
from reference_broker.core.queue.delivery_counts import shown_content
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.removal import purged
from reference_broker.core.queue.rest import require_rest
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.vhost.traffic import Traffic
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import NotYet
from reference_broker.errors import AmqpError, ReplyCode
from reference_broker.http.access.vhosts import placed, vhost_of, vhosts_of
from reference_broker.http.objects.bindings import is_bound, listable_row
from reference_broker.http.objects.consumer_details import (
    CONSUMERS,
    ROW,
    consumers_here,
    shown_with_consumers,
)
from reference_broker.http.objects.declaring import (
    arguments_of,
    check_name,
    flag,
    put_answer,
    refusals,
    vhost_to_change,
    wants,
)
from reference_broker.http.objects.queues_elsewhere import (
    GettingElsewhere,
    condition_steps,
    listed_with_homes,
    purge_steps,
    shown_by_home,
)
from reference_broker.http.objects.single_active import (
    ORIGIN,
    SingleActives,
    origin_of_active,
    part_asked,
)
from reference_broker.http.request.answer import (
    ApiError,
    Row,
    bad_request,
    json_response,
    not_found,
)
from reference_broker.http.request.authentication import not_authorised
from reference_broker.http.request.authorization import access_of, entered, require_access
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import CoreInputs, settle
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns, stats_disabled
from reference_broker.http.request.peers import Peers
from reference_broker.http.request.turn_share import next_turn
from reference_broker.http.rows.message import LONG_BYTES, Got, message_row, payload_steps
from reference_broker.http.rows.rendering import plain_queue_row, queue_detail_row, queue_row
from reference_broker.http.rows.statistics import Spans, Statistics

GET_MESSAGES_MAX = 5_000
GET_BYTES_MAX = 16 * MIB
"""Bytes that one request gets at most (and the message that goes over it), whatever it asks for:
the answer is made in memory."""


INPUT_MESSAGES = 200
"""Messages that are taken in one input of the core: about 2 ms."""


class AckMode(NamedTuple):
    """Settlement of the messages that were shown."""

    requeue: bool
    reject: bool


ACK_MODES = {
    "ack_requeue_true": AckMode(requeue=True, reject=False),
    "ack_requeue_false": AckMode(requeue=False, reject=False),
    "reject_requeue_true": AckMode(requeue=True, reject=True),
    "reject_requeue_false": AckMode(requeue=False, reject=True),
}


class GetRequest(NamedTuple):
    """The body of a get request."""

    limit: int
    ack_mode: AckMode
    text: bool
    truncate: int | None

    @classmethod
    def parse(cls, body: dict[str, Any]) -> GetRequest:
        """The get request in a JSON object. Raises :exc:`ApiError` 400, in RabbitMQ's words where
        it has some."""
        limit = _integer(body["count"])
        ack_mode = ACK_MODES.get(str(body["ackmode"]))
        if ack_mode is None:
            raise bad_request(f"Unsupported ackmode. Please use one of {', '.join(ACK_MODES)}.")
        if body["encoding"] not in ("auto", "base64"):
            raise bad_request("Unsupported encoding. Please use auto or base64.")
        truncate = _integer(body["truncate"]) if "truncate" in body else None
        if truncate is not None and truncate < 0:
            raise bad_request(["not_integer", str(truncate)])
        # RabbitMQ counts down to zero from here, so a negative one means all.
        if not 0 <= limit <= GET_MESSAGES_MAX:
            limit = GET_MESSAGES_MAX
        return cls(limit, ack_mode, body["encoding"] == "auto", truncate)


class Queues:
    """``/api/queues`` and the paths below."""

    def __init__(self, host: Host, statistics: Statistics, peers: Peers | None = None) -> None:
        self._host = host
        self._statistics = statistics
        self._peers = peers
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        """All queues, or those of one virtual host. The rows of those that have their home
        elsewhere come from there."""
        node, vhosts = self._host.node().name, vhosts_of(self._host.broker, request)
        spans = Spans.parse(request.query_params)

        def row_of(queue: Queue) -> Row:
            if stats_disabled(request):
                totals = request.query_params.get("enable_queue_totals") == "true"
                return plain_queue_row(queue, node, totals=totals)
            return self._statistics.of_queue(queue_row(queue, node), queue, spans)

        return await listed_with_homes(request, self._peers, vhosts, row_of)

    async def show(self, request: Request) -> Response:
        queue, node = self._queue(request), self._host.node().name
        part, actives = part_asked(request), SingleActives(self._host.broker, node)
        if part == CONSUMERS:
            return await consumers_here(request, list(queue.consumers), node)
        if isinstance(queue, RemoteQueue):
            return await shown_by_home(request, self._peers, queue, actives)
        spans = Spans.parse(request.query_params)
        if stats_disabled(request):
            return shown_columns(request, plain_queue_row(queue, node, totals=False))
        row = self._statistics.of_queue(queue_detail_row(queue, node), queue, spans)
        if part == ROW:
            origin = origin_of_active(queue) or ()
            return shown_columns(request, row, always={ORIGIN: origin})
        return await shown_with_consumers(request, self._peers, queue, actives, row)

    async def put(self, request: Request) -> Response:
        """Declare a queue. Answered when its definition is on disk, if it is durable."""
        body = await read_object(request, (), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        name, node = request.path_params["queue"], self._host.node().name
        check_name("queue", name)
        if body.get("node") not in (None, node):
            raise bad_request(f"Node {body['node']} could not be contacted")
        durable, auto_delete = flag(body, "durable"), flag(body, "auto_delete")
        with self._inputs.begin(request) as broker, refusals():
            vhost = vhost_to_change(broker, request)
            existed = name in vhost.queues
            vhost.declare_queue(
                name,
                durable=durable,
                auto_delete=auto_delete,
                arguments=arguments_of(body),
                access=access_of(broker, request, vhost),
            )
        if durable:
            await self._inputs.defined()
        return put_answer(existed=existed)

    async def delete(self, request: Request) -> Response:
        """Delete a queue; with ``if-empty=true`` or ``if-unused=true`` only where that is so, which
        the home of a queue elsewhere knows."""
        if_empty, if_unused = wants(request, "if-empty"), wants(request, "if-unused")
        elsewhere = self._remote(request)
        if elsewhere is not None and (if_empty or if_unused):
            steps = condition_steps(elsewhere, if_unused=if_unused, if_empty=if_empty)
            await self._check_at_home(request, elsewhere, steps)
        with self._inputs.begin(request) as broker, refusals():
            queue = self._queue(request)
            vhost = vhost_of(broker, request)
            require_access(broker, request, vhost, Action.CONFIGURE, queue.name)
            done = self._inputs.awaited()
            vhost.delete_queue(
                queue.name,
                if_empty=if_empty and not queue.is_elsewhere,
                if_unused=if_unused and not queue.is_elsewhere,
                answer=lambda _: settle(done),
            )
        await done
        if queue.durable:
            await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _check_at_home(self, request: Request, queue: RemoteQueue, conditions: Steps) -> None:
        """Raises :exc:`ApiError` where a queue elsewhere does not meet them: 400, or 404 while its
        home is down."""
        with self._inputs.begin(request) as broker:
            vhost = vhost_of(broker, request)
            require_access(broker, request, vhost, Action.CONFIGURE, queue.name)
        with refusals():
            await self._inputs.perform(conditions, vhost.name)

    async def act(self, request: Request) -> Response:
        """Do nothing for RabbitMQ's actions on mirrored queues: there are no mirrors, so nothing is
        out of step."""
        body = await read_object(request, ("action",), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        self._queue(request)
        if body["action"] not in ("sync", "cancel_sync"):
            raise bad_request(["unknown", body["action"]])
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def bindings(self, request: Request) -> Response:
        """The bindings to the queue; none for a queue that is not there."""
        name = request.path_params["vhost"]
        vhost = self._host.broker.vhosts.get(name)
        if vhost is None:
            return json_response([])
        queue = request.path_params["queue"]
        to = placed([vhost], lambda _: vhost.bindings_to(queue, is_queue=True))
        return await listed(request, to, listable_row, is_there=is_bound)

    async def get(self, request: Request) -> Response:
        """Show messages from the head. An answer with messages that are removed leaves when that is
        on disk: a message that was shown does not come back."""
        body = await read_object(
            request, ("ackmode", "count", "encoding"), bytes_max=BESIDE_THE_MESSAGE_BYTES
        )
        wanted = GetRequest.parse(body)
        elsewhere = self._remote(request)
        if elsewhere is not None:
            got = await self._get_elsewhere(request, elsewhere, wanted)
        else:
            got = await self._get(request, wanted)
        self._count(request, got)
        if got and elsewhere is None and not wanted.ack_mode.requeue:
            await self._inputs.on_disk()
        return await listed(
            request,
            [await _with_payload(request, each, wanted) for each in got],
            lambda each: message_row(each, text=wanted.text, truncate=wanted.truncate),
        )

    def _count(self, request: Request, got: list[Got]) -> None:
        """Count the messages that were got: a request has no channel that would."""
        vhost = self._host.broker.vhosts.get(request.path_params["vhost"])
        if vhost is not None:  # it may be gone by now
            counted = Traffic(get=len(got), redeliver=sum(each.lease.redelivered for each in got))
            vhost.traffic.past = vhost.traffic.past.plus(counted)

    async def _get(self, request: Request, wanted: GetRequest) -> list[Got]:
        """Take messages and settle them: a portion an input, and between two inputs wait for what
        has to be read first."""
        with self._inputs.begin(request) as broker:
            queue, vhost = self._queue_to_get_from(broker, request), vhost_of(broker, request)
            getting = _Getting(queue, wanted)
            getting.advance()
            head = self._inputs.head_of(queue) if getting.starved else None
        try:
            while not getting.complete:
                if head is not None:
                    await head
                await next_turn(request)
                with self._inputs.go_on():
                    getting.advance()
                    head = self._inputs.head_of(queue) if getting.starved else None
        except BaseException:  # the client may have gone: nothing is left with the request
            with self._inputs.go_on() as broker:
                broker.work.start(put_back(getting.leases), vhost.name)
            raise
        await self._inputs.perform(_settled(queue, getting.leases, wanted.ack_mode), vhost.name)
        return getting.got

    def _queue_to_get_from(self, broker: Broker, request: Request) -> Queue:
        """The queue in the path, for whoever may read it. Raises :exc:`ApiError` 401 and 404."""
        vhost, name = vhost_of(broker, request), request.path_params["queue"]
        try:
            entered(broker, request, vhost).require(Action.READ, "queue", name)
            return vhost.queue_for(name, None)
        except AmqpError as error:
            raise _refusal_of_get(error) from error

    async def _get_elsewhere(
        self, request: Request, queue: RemoteQueue, wanted: GetRequest
    ) -> list[Got]:
        """Take messages of a queue elsewhere, one by one, and settle them. The home is told how,
        and nobody waits for its disk."""
        with self._inputs.begin(request) as broker:
            self._queue_to_get_from(broker, request)
        getting = GettingElsewhere(queue, wanted.limit, GET_BYTES_MAX)
        vhost_name = queue.env.vhost_name
        try:
            await self._inputs.perform(getting.steps(), vhost_name)
        except AmqpError as error:
            raise _refusal_of_get(error) from error
        except BaseException:  # the client may have gone: nothing is left with the request
            getting.abandon()
            raise
        await self._inputs.perform(_settled(queue, getting.leases, wanted.ack_mode), vhost_name)
        return getting.got

    async def purge(self, request: Request) -> Response:
        with self._inputs.begin(request) as broker, refusals():
            vhost = vhost_of(broker, request)
            name = self._queue(request).name
            require_access(broker, request, vhost, Action.READ, name)
            queue = vhost.queue_for(name, None)
            if not queue.is_elsewhere:
                require_rest(queue)
        if isinstance(queue, RemoteQueue):
            with refusals():
                await self._inputs.perform(purge_steps(queue), vhost.name)
            return Response(status_code=HTTPStatus.NO_CONTENT)
        await self._inputs.perform(purged(queue), vhost.name)
        if queue.durable:
            await self._inputs.on_disk()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _remote(self, request: Request) -> RemoteQueue | None:
        """The queue in the path, where it is one elsewhere."""
        vhost = self._host.broker.vhosts.get(request.path_params["vhost"])
        queue = None if vhost is None else vhost.queues.get(request.path_params["queue"])
        return queue if isinstance(queue, RemoteQueue) else None

    def _queue(self, request: Request) -> Queue:
        vhost = vhost_of(self._host.broker, request)
        queue = vhost.queues.get(request.path_params["queue"])
        if queue is None:
            raise not_found()
        return queue


class _Getting:
    """The messages of one request: ``got`` has each with how many were ready after it.
    ``complete`` when there will be no more; ``starved`` while the next one has to be read first."""

    def __init__(self, queue: Queue, wanted: GetRequest) -> None:
        self._queue = queue
        self._limit = wanted.limit
        self._size = 0
        self.got: list[Got] = []
        self.complete = False
        self.starved = False

    @property
    def leases(self) -> list[Lease]:
        """All of them are still to be settled."""
        return [each.lease for each in self.got]

    def advance(self) -> None:
        """Take a portion of the messages."""
        queue, got = self._queue, self.got
        self.starved = False
        for _ in range(INPUT_MESSAGES):
            if len(got) >= self._limit or self._size > GET_BYTES_MAX:
                self.complete = True
                return
            try:
                lease = queue.get(self)
            except NotYet:
                self.starved = True
                return
            if lease is None:
                self.starved = queue.ready > 0
                self.complete = not self.starved
                return
            got.append(Got(lease, shown_content(lease), queue.ready))
            self._size += lease.content.size


async def _with_payload(request: Request, got: Got, wanted: GetRequest) -> Got:
    """The message, with its payload if that is a long one: made in portions."""
    size = len(got.content.body)
    if size <= LONG_BYTES or (wanted.truncate is not None and wanted.truncate <= LONG_BYTES):
        return got
    steps = payload_steps(got.content.body, text=wanted.text, truncate=wanted.truncate)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return got._replace(payload=end.value)
        await next_turn(request)


def _settled(queue: Queue, leases: list[Lease], mode: AckMode) -> Steps:
    """The steps of settling what was shown. None is left with the request, whatever becomes of its
    socket."""
    if mode.requeue:
        yield from put_back(leases)
        return
    env = queue.env
    settle = queue.reject if mode.reject else queue.ack
    for lease in leases:
        while env.budget.left <= 0 or not env.follow_letters():
            yield None
        settle(lease)
        env.budget.left -= 1
    while not env.follow_letters():
        yield None


def _refusal_of_get(error: AmqpError) -> ApiError | AmqpError:
    """The answer to a get that the core, or the queue's home, has refused."""
    if error.code is ReplyCode.NOT_FOUND:
        return ApiError(HTTPStatus.NOT_FOUND, "not_found", error.reply_text)
    if error.code is ReplyCode.ACCESS_REFUSED:
        return not_authorised(error.reply_text)
    return error


def _integer(value: Any) -> int:
    """A whole number, which RabbitMQ takes in a text too."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise bad_request(["not_integer", str(value)])
    try:
        return int(value)
    except ValueError:
        raise bad_request(["not_integer", str(value)]) from None
