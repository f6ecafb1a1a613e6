"""The consumers of one queue, which are connected to any of the nodes: each node tells of its own.

client --> a node --(PART=row)-------> the home: the queue, without its consumers
                  --(PART=consumers)-> the others, where there are more than it knows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.queue.ports import ConsumerPort
from reference_broker.core.queue.queue import Queue
from reference_broker.http.objects.single_active import PART, SingleActives, row_with_origin
from reference_broker.http.request.answer import Row
from reference_broker.http.request.listing import listed, shown_columns, shown_with, wants_column
from reference_broker.http.request.peer_rows import NOBODY, Order, PeerRow, rows_of_others
from reference_broker.http.request.peers import Peers, asked_by
from reference_broker.http.request.portions import collected
from reference_broker.http.rows.rendering import is_consuming

COLUMN = "consumer_details"

CONSUMERS, ROW = "consumers", "row"

_BY_TAG = Order((), lambda row: row["consumer_tag"], lambda row: row["consumer_tag"])


async def consumers_here(
    request: Request, consumers: Iterable[ConsumerPort], node: str
) -> Response:
    """The rows of those that are connected here, for another node."""
    own = (each for each in consumers if isinstance(each, Consumer))
    return await listed(
        request, own, lambda each: row_with_origin(each, node), is_there=is_consuming
    )


async def shown_with_consumers(
    request: Request, peers: Peers | None, queue: Queue, actives: SingleActives, row: Row
) -> Response:
    """The row of a queue with its consumers on all nodes. The headers say whose are missing."""
    if not wants_column(request, COLUMN):
        return shown_columns(request, row)
    own, _ = await collected(request, list(queue.consumers), lambda it: isinstance(it, Consumer))
    others = NOBODY
    has_more = row.get("consumers") != len(own)
    if peers is not None and has_more and not asked_by(request):
        others = await rows_of_others(request, peers, _BY_TAG, query=[(PART, CONSUMERS)])
    consumers: Iterator[Consumer | PeerRow] = chain(cast(list[Consumer], own), others.rows)
    response = await shown_with(
        request,
        row,
        COLUMN,
        consumers,
        actives.row,
        is_shown,
    )
    response.headers.update(others.headers)
    return response


def is_shown(consumer: Consumer | PeerRow) -> bool:
    """False for a consumer of this node that has gone."""
    return isinstance(consumer, PeerRow) or is_consuming(consumer)
