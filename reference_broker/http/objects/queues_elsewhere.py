"""Queues that have their home on another node, as requests here see and change them.

Rows come from the home, over the question that the request is; messages go as those of an AMQP
client of this node would (:class:`~reference_broker.core.remote.remote_queue.RemoteQueue`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.removal import NO_CONTENT
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.task import Steps
from reference_broker.errors import ChannelException
from reference_broker.http.access.vhosts import placed
from reference_broker.http.objects.consumer_details import ROW, shown_with_consumers
from reference_broker.http.objects.single_active import ORIGIN, PART, SingleActives, queues_here
from reference_broker.http.request.answer import ApiError, Row
from reference_broker.http.request.listing import listed, on_page, shown_columns, stats_disabled
from reference_broker.http.request.peer_rows import Order, PeerRow, rows_of_others
from reference_broker.http.request.peers import (
    Peers,
    asked_by,
    passed_on,
    shown_node,
    unreachable_header,
)
from reference_broker.http.request.portions import collected
from reference_broker.http.rows.message import Got
from reference_broker.http.rows.rendering import remote_queue_row

_ORDER = Order(("vhost", "name"), lambda row: row["name"], lambda row: (row["vhost"], row["name"]))


async def listed_with_homes(
    request: Request,
    peers: Peers | None,
    vhosts: Sequence[VHost],
    render: Callable[[Queue], Row],
) -> Response:
    """The list of the queues of ``vhosts``: ``render`` makes the rows of those here, and those of
    the others come from their homes. A home that gives none is in the headers, and its queues have
    the row of their definition."""
    asked_for = asked_by(request)
    if asked_for is not None:
        return await listed(
            request, queues_here(vhosts, asked_for.only), render, is_there=_is_there
        )
    queues: Iterable[Queue] = (
        each.item for each in placed(vhosts, lambda vhost: list(vhost.queues.values()))
    )
    known: dict[tuple[str, str], PeerRow] = {}
    headers: dict[str, str] = {}
    if peers is not None:
        queues, _ = await collected(request, queues)
        wanted = await on_page(request, queues, _name_of, _place_of)
        homes = await _homes_of(request, queues if wanted is None else wanted)
        only = None if wanted is None else [_place_of(each) for each in wanted if each.is_elsewhere]
        found = await rows_of_others(request, peers, _ORDER, homes, only)
        known = {each.place: each for each in found.rows}
        headers = found.headers

    def row_of(queue: Queue) -> Row:
        if not isinstance(queue, RemoteQueue):
            return render(queue)
        row = known.get(_place_of(queue))
        return definition_row(request, queue) if row is None else row.row()

    return await listed(request, queues, row_of, _name_of, _place_of, _is_there, headers)


async def _homes_of(request: Request, queues: Iterable[Queue]) -> list[str]:
    """The nodes that are homes of ``queues``, without this one."""
    homes: set[str] = set()
    for queue in (await collected(request, queues, lambda queue: queue.is_elsewhere))[0]:
        if isinstance(queue, RemoteQueue):
            homes.add(queue.home.node)
    return sorted(homes)


def _is_there(queue: Queue) -> bool:
    return not queue.deleted


async def shown_by_home(
    request: Request, peers: Peers | None, queue: RemoteQueue, actives: SingleActives
) -> Response:
    """The row of one queue, from its home, with its consumers on all nodes; or of its definition
    where the home can't be asked. Raises :exc:`ApiError` 404 to another node, whose question has
    missed the home."""
    if asked_by(request):
        raise ApiError(HTTPStatus.NOT_FOUND, "Object Not Found", "Not Found")
    node = queue.home.node
    if peers is not None and node in peers.others:
        try:
            response = await passed_on(request, peers, [node], (PART, ROW))
        except ApiError as error:
            if error.status is not HTTPStatus.NOT_FOUND:
                raise
        else:
            if response.status_code != HTTPStatus.OK or stats_disabled(request):
                return response
            row = json.loads(bytes(response.body))
            actives.tell(_place_of(queue), row.pop(ORIGIN, ()))
            return await shown_with_consumers(request, peers, queue, actives, row)
    return shown_columns(request, definition_row(request, queue), unreachable_header([node]))


def definition_row(request: Request, queue: RemoteQueue) -> Row:
    """The row of a queue whose home has told nothing of it."""
    row = remote_queue_row(queue, shown_node(queue.home.node), is_up=queue.home.is_up)
    if stats_disabled(request):
        for name in ("operator_policy", "effective_policy_definition"):
            del row[name]
    return row


def _name_of(queue: Queue) -> str:
    return queue.name


def _place_of(queue: Queue) -> tuple[str, str]:
    return (queue.env.vhost_name, queue.name)


# Messages


def condition_steps(queue: RemoteQueue, *, if_unused: bool, if_empty: bool) -> Steps:
    """The steps of asking the home whether the conditions of a deletion are met."""
    yield from queue.require_deletable(if_unused=if_unused, if_empty=if_empty)


def purge_steps(queue: RemoteQueue) -> Steps:
    """The steps of a purge, which is on disk at the home then."""
    yield from queue.purge()


class GettingElsewhere:
    """The messages of one request, ``limit`` at most, and no more once they have ``octets``. Each
    is a question to the home. Take :meth:`steps`; ``got`` has each with how many were ready after
    it."""

    def __init__(self, queue: RemoteQueue, limit: int, octets: int) -> None:
        self._queue = queue
        self._limit = limit
        self._octets = octets
        self._is_abandoned = False
        self.got: list[Got] = []

    @property
    def leases(self) -> list[Lease]:
        """All of them are still to be settled."""
        return [each.lease for each in self.got]

    def steps(self) -> Steps:
        """Get the messages. They go back unseen where the request has left, or the home is lost
        meanwhile; then this raises what the home said."""
        size = 0
        try:
            while len(self.got) < self._limit and size <= self._octets:
                lease, left = yield from self._queue.fetch(self, no_ack=False)
                if lease is None:
                    break
                content, lease.content = lease.content, NO_CONTENT
                self.got.append(Got(lease, content, left))
                size += content.size
                if self._is_abandoned:
                    break
        except ChannelException:
            self._give_back()
            raise
        if self._is_abandoned:
            self._give_back()

    def abandon(self) -> None:
        """The request has left: nobody sees the messages."""
        self._is_abandoned = True

    def _give_back(self) -> None:
        for lease in self.leases:
            self._queue.give_back_unseen(lease)
