"""The single active consumers of queues that have their home on another node than the consumer.

The home alone knows which one it is, and the consumer's own node everything else of it.

a node --(the list)-----> the others: rows of consumers, each with the origin of its attachment
       --(PART=active)--> the homes of their queues: the origin of the active one
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.broker import Broker
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.queue.ports import AttachedFrom
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.access.vhosts import placed
from reference_broker.http.request.answer import Row
from reference_broker.http.request.listing import listed
from reference_broker.http.request.peer_rows import Answered, Order, PeerRow, rows_of_others
from reference_broker.http.request.peers import Peers, asked_by, member_named
from reference_broker.http.request.portions import Portion, collected
from reference_broker.http.rows.rendering import consumer_row

Place = tuple[str, str]
"""The virtual host and the name of a queue."""

PART = "mqkit-part"
"""The parameter by which one node asks another for a part of what the path names."""

ACTIVE = "active"

ORIGIN = "mqkit-origin"
"""The column of a row for another node that has the origin of a consumer's attachment: in the row
of a consumer its own, in the row of a queue that of its single active consumer. In the row of a
channel it has the channel's node."""

ONLY_MAX = 2_000
"""Queues that a home is asked for by name; of more it is asked for all."""

BY_QUEUE = Order(
    ("queue", ORIGIN), lambda row: "", lambda row: (row["queue"]["vhost"], row["queue"]["name"])
)
"""The order of consumers, by the :data:`Place` of their queues."""

_ACTIVE_BY_QUEUE = Order(
    (), lambda row: row["name"], lambda row: ((row["vhost"], row["name"]), row[ORIGIN])
)


def place_of(consumer: Consumer) -> Place:
    """The place of a consumer's queue."""
    return consumer.queue.env.vhost_name, consumer.queue.name


def part_asked(request: Request) -> str:
    """The part that another node asks for; empty for a client's request."""
    return request.query_params.get(PART, "") if asked_by(request) else ""


# At the node of the consumer


def row_with_origin(consumer: Consumer, node: str) -> Row:
    """The row of a consumer of this node, with its origin where the home of its queue has to say
    whether it is the active one. :meth:`SingleActives.row` takes that away."""
    row = consumer_row(consumer, node)
    queue = consumer.queue
    if isinstance(queue, RemoteQueue) and queue.limits.single_active_consumer:
        row[ORIGIN] = [member_named(node), queue.attachment_number(consumer)]
    return row


# At the home


def origin_of_active(queue: Queue) -> AttachedFrom | None:
    """The origin of the single active consumer of a queue of this node; ``None`` where that is
    connected to this node, and where there is none."""
    active = queue.rotation.active
    return None if active is None else active.attached_from


async def active_here(request: Request, vhosts: Sequence[VHost]) -> Response:
    """The single active consumers of other nodes at queues of this one, for the node that asks."""
    asked = asked_by(request)
    only = None if asked is None else asked.only
    queues, _ = await collected(request, queues_here(vhosts, only), _is_active_elsewhere)
    return await listed(request, queues, _active_row, is_there=_is_active_elsewhere)


def queues_here(vhosts: Sequence[VHost], only: Sequence[Place] | None) -> Iterator[Queue]:
    """The queues that have their home on this node, or ``only`` these of them."""
    if only is None:
        held = placed(vhosts, lambda vhost: list(vhost.queues.values()))
        return (each.item for each in held if not each.item.is_elsewhere)
    by_name = {vhost.name: vhost for vhost in vhosts}
    found = (by_name[vhost].queues.get(name) for vhost, name in only if vhost in by_name)
    return (queue for queue in found if queue is not None and not queue.is_elsewhere)


def _is_active_elsewhere(queue: Queue) -> bool:
    return origin_of_active(queue) is not None


def _active_row(queue: Queue) -> Row:
    return {"vhost": queue.env.vhost_name, "name": queue.name, ORIGIN: origin_of_active(queue)}


# At the node that was asked by a client


class SingleActives:
    """The origins of the active ones, as their homes have told. Rows of consumers are shown as
    waiting where they have not. ``node`` is this one, as clients see it."""

    def __init__(self, broker: Broker, node: str) -> None:
        self._broker = broker
        self._node = node
        self._told: dict[Place, Sequence[object]] = {}

    def tell(self, place: Place, origin: Sequence[object]) -> None:
        """The home of that queue has told the origin of the active one."""
        self._told[place] = origin

    async def ask(
        self, request: Request, peers: Peers, own: Iterable[Consumer], others: Answered
    ) -> Answered:
        """Ask the other nodes that are homes of queues with a single active consumer, for those of
        ``own`` and of ``others`` (:data:`BY_QUEUE`). Returns ``others``, with who has not answered
        among the unreachable. Who is among them already is not waited for again."""
        places = chain(map(place_of, own), (each.place for each in others.rows))
        wanted, homes = await self._elsewhere(request, places)
        nodes = sorted(homes.intersection(peers.others).difference(others.unreachable))
        if not nodes:
            return others
        only = list(wanted) if len(wanted) <= ONLY_MAX else None
        found = await rows_of_others(
            request, peers, _ACTIVE_BY_QUEUE, nodes, only, [(PART, ACTIVE)]
        )
        portion = Portion(request)
        for each in found.rows:
            self.tell(*each.place)
            if portion.spend(1):
                await portion.end()
        return others._replace(
            unreachable=[*others.unreachable, *found.unreachable],
            cut=sorted({*others.cut, *found.cut}),
        )

    async def _elsewhere(
        self, request: Request, places: Iterable[Place]
    ) -> tuple[dict[Place, None], set[str]]:
        portion, wanted, homes = Portion(request), dict[Place, None](), set[str]()
        for place in places:
            queue = self._queue(place)
            if isinstance(queue, RemoteQueue) and queue.limits.single_active_consumer:
                wanted[place] = None
                homes.add(queue.home.node)
            if portion.spend(1):
                await portion.end()
        return wanted, homes

    def row(self, consumer: Consumer | PeerRow) -> Row:
        """The row of a consumer of any node, as clients see it."""
        row = (
            consumer.row()
            if isinstance(consumer, PeerRow)
            else row_with_origin(consumer, self._node)
        )
        origin = row.pop(ORIGIN, None)
        if origin is not None and origin == self._origin_at(row["queue"]):
            row["active"], row["activity_status"] = True, "single_active"
        return row

    def _origin_at(self, named: Row) -> list[object]:
        place = (named["vhost"], named["name"])
        queue = self._queue(place)
        if queue is None or queue.is_elsewhere:
            return list(self._told.get(place, ()))
        return list(origin_of_active(queue) or ())

    def _queue(self, place: Place) -> Queue | None:
        vhost_name, name = place
        vhost = self._broker.vhosts.get(vhost_name)
        return None if vhost is None else vhost.queues.get(name)
