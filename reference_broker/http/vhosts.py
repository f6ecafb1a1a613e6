"""Virtual hosts, and finding what a path names in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.broker import Broker
from reference_broker.core.exchange import DEFAULT_EXCHANGE
from reference_broker.core.vhost import VHost
from reference_broker.http.answer import Row, not_found
from reference_broker.http.host import Host
from reference_broker.http.listing import listed, shown_columns, stats_disabled
from reference_broker.http.measures import totals_of
from reference_broker.http.rendering import vhost_row
from reference_broker.http.statistics import Spans, Statistics

DEFAULT_EXCHANGE_ALIAS = "amq.default"
"""What paths call the exchange without a name."""

Item = TypeVar("Item")


class Placed(Generic[Item]):
    """An object with its virtual host, which it may not know itself."""

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
    """The virtual host in the path, or else in the header ``x-vhost`` (none if there is none of
    that name), or else all. Raises :exc:`ApiError` 404 for a path."""
    if "vhost" in request.path_params:
        return [vhost_of(broker, request)]
    name = request.headers.get("x-vhost")
    if name is None:
        return list(broker.vhosts.values())
    return [broker.vhosts[name]] if name in broker.vhosts else []


def placed(vhosts: Iterable[VHost], of: Callable[[VHost], Iterable[Item]]) -> list[Placed[Item]]:
    """Everything that ``of`` gives for each virtual host."""
    return [Placed(vhost, item) for vhost in vhosts for item in of(vhost)]


def exchange_name(request: Request, parameter: str) -> str:
    """The name of the exchange in the path."""
    name: str = request.path_params[parameter]
    return DEFAULT_EXCHANGE if name == DEFAULT_EXCHANGE_ALIAS else name


class VHosts:
    """``/api/vhosts``"""

    def __init__(self, host: Host, statistics: Statistics) -> None:
        self._host = host
        self._statistics = statistics

    async def index(self, request: Request) -> Response:
        node = self._host.node().name
        vhosts = vhosts_of(self._host.broker, request)
        totals = totals_of(self._host.broker)
        spans = Spans.parse(request.query_params)

        def row_of(vhost: VHost) -> Row:
            row = vhost_row(vhost, node)
            if stats_disabled(request):
                return row
            return self._statistics.of_vhost(row, vhost, totals[vhost.name], spans)

        return await listed(
            request,
            vhosts,
            row_of,
            lambda vhost: vhost.name,
            order=lambda vhost: vhost.name,
        )

    async def show(self, request: Request) -> Response:
        vhost = vhost_of(self._host.broker, request)
        totals = totals_of(self._host.broker)[vhost.name]
        row = vhost_row(vhost, self._host.node().name)
        spans = Spans.parse(request.query_params)
        return shown_columns(request, self._statistics.of_vhost(row, vhost, totals, spans))
