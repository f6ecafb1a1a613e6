"""``/api/vhosts``, and the virtual hosts and exchanges that other paths name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.broker import Broker
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.access.user_request import checked_name
from reference_broker.http.access.vhost_request import vhost_info
from reference_broker.http.access.vhost_rows import VHostRows, vhost_rows
from reference_broker.http.request.answer import Row, bad_request, not_found
from reference_broker.http.request.authentication import user_of
from reference_broker.http.request.authorization import is_monitoring, may_enter
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import CoreInputs, settle
from reference_broker.http.request.handlings import handlings_of
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns, stats_disabled
from reference_broker.http.request.peers import Peers, asked_by, asks_others
from reference_broker.http.request.portions import stepped
from reference_broker.http.rows.rendering import vhost_row
from reference_broker.http.rows.statistics import Spans, Statistics
from reference_broker.http.rows.totals import TOTALS_ENTRIES, Totals, VHostTotals

DEFAULT_EXCHANGE_ALIAS = "amq.default"
"""The name in paths of the exchange without a name."""

Item = TypeVar("Item")


class Placed(Generic[Item]):
    """An object with its virtual host, which the object may not know."""

    __slots__ = ("item", "vhost")

    def __init__(self, vhost: VHost, item: Item) -> None:
        self.vhost = vhost
        self.item = item


def vhost_of(broker: Broker, request: Request) -> VHost:
    """The virtual host in the path. Raises :exc:`ApiError` 404."""
    vhost = broker.vhosts.get(request.path_params["vhost"])
    if vhost is None:
        raise not_found()
    return vhost


def vhosts_of(broker: Broker, request: Request) -> list[VHost]:
    """Those of :func:`named_vhosts` that the user may enter. Raises :exc:`ApiError` 404."""
    user = user_of(request)
    return [vhost for vhost in named_vhosts(broker, request) if may_enter(broker, user, vhost.name)]


def named_vhosts(broker: Broker, request: Request) -> list[VHost]:
    """The virtual host in the path, or else in the header ``x-vhost`` (none if there is none of
    that name), or else all. Raises :exc:`ApiError` 404 for a path."""
    if "vhost" in request.path_params:
        return [vhost_of(broker, request)]
    name = request.headers.get("x-vhost")
    if name is None:
        return list(broker.vhosts.values())
    return [broker.vhosts[name]] if name in broker.vhosts else []


def placed(
    vhosts: Iterable[VHost], of: Callable[[VHost], Collection[Item]]
) -> Iterator[Placed[Item]]:
    """Every object that ``of`` gives for each virtual host, which is asked at once, so it must give
    what stands still: a copy. The objects may be taken in portions."""
    held = [(vhost, of(vhost)) for vhost in vhosts]
    return (Placed(vhost, item) for vhost, items in held for item in items)


def exchange_name(request: Request, parameter: str) -> str:
    """The name of the exchange in the path."""
    name: str = request.path_params[parameter]
    return DEFAULT_EXCHANGE if name == DEFAULT_EXCHANGE_ALIAS else name


async def totals_for(request: Request, broker: Broker) -> dict[str, VHostTotals]:
    """The sums of every virtual host, read in portions."""
    totals = Totals(broker)
    await stepped(request, totals.read(), TOTALS_ENTRIES)
    return totals.by_vhost


class VHosts:
    """``/api/vhosts``"""

    def __init__(self, host: Host, statistics: Statistics, peers: Peers | None = None) -> None:
        self._host = host
        self._statistics = statistics
        self._peers = peers
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        """The virtual hosts that the user may enter, or all for whoever is monitoring, with the
        sums of all nodes."""
        node = self._host.node().name
        broker = self._host.broker
        among = named_vhosts if is_monitoring(user_of(request)) else vhosts_of
        totals = await totals_for(request, broker)
        spans = Spans.parse(request.query_params)
        others = await self._others(request)

        def row_of(vhost: VHost) -> Row:
            row = vhost_row(vhost, node)
            if not stats_disabled(request):
                row = self._statistics.of_vhost(row, vhost, totals[vhost.name], spans)
            return others.added_to(row)

        return await listed(
            request,
            among(broker, request),
            row_of,
            lambda vhost: vhost.name,
            order=lambda vhost: vhost.name,
            is_there=lambda vhost: vhost.name in totals and broker.vhosts.get(vhost.name) is vhost,
            headers=others.headers,
        )

    async def _others(self, request: Request) -> VHostRows:
        """The rows of the other nodes for the virtual hosts that are asked for."""
        peers = asks_others(request, self._peers)
        return VHostRows() if peers is None else await vhost_rows(request, peers)

    async def show(self, request: Request) -> Response:
        vhost = vhost_of(self._host.broker, request)
        totals = (await totals_for(request, self._host.broker)).get(vhost.name)
        if totals is None:
            raise not_found()
        row = vhost_row(vhost, self._host.node().name)
        spans = Spans.parse(request.query_params)
        row = self._statistics.of_vhost(row, vhost, totals, spans)
        if asked_by(request):
            return await listed(request, [row], dict)
        others = await self._others(request)
        return shown_columns(request, others.added_to(row), others.headers)

    async def put(self, request: Request) -> Response:
        """Make a virtual host (201), with all permissions for the user who makes it; or change the
        properties of one (204)."""
        name = checked_name(request.path_params["vhost"], "vhost")
        body = await read_object(request, (), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        with self._inputs.begin(request) as broker:
            existing = broker.vhosts.get(name)
            broker.add_vhost(name, vhost_info(body, None if existing is None else existing.info))
            created = existing is None or handlings_of(request).has_made
            if created:
                broker.access.allow_everything(user_of(request).name, name)
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.CREATED if created else HTTPStatus.NO_CONTENT)

    async def delete(self, request: Request) -> Response:
        """Delete a virtual host with all that is in it; connections to it are closed (320)."""
        with self._inputs.begin(request) as broker:
            done = self._inputs.awaited()
            broker.delete_vhost(vhost_of(broker, request).name, partial(settle, done))
        await done
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def start(self, request: Request) -> Response:
        """Do nothing: a virtual host is never down here."""
        name, node = request.path_params["vhost"], request.path_params["node"]
        if name not in self._host.broker.vhosts:
            raise bad_request(f'Request to node {node} failed with {{no_such_vhost,<<"{name}">>}}')
        return Response(status_code=HTTPStatus.NO_CONTENT)
