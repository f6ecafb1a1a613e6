"""``/api/bindings``: listing, binding and unbinding.

The default exchange has a binding to every queue, which nobody declared. In a list each is made
when it is rendered, from the queue's name: ten thousand at once would stop the loop.
"""

from __future__ import annotations

from http import HTTPStatus
from itertools import chain
from typing import TypeAlias
from urllib.parse import quote, quote_plus, unquote_plus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ChannelException, ReplyCode
from reference_broker.http.access.vhosts import Placed, exchange_name, placed, vhost_of, vhosts_of
from reference_broker.http.objects.declaring import arguments_of, refusals, vhost_to_change
from reference_broker.http.request.answer import Row, bad_request, json_response, not_found
from reference_broker.http.request.authorization import access_of
from reference_broker.http.request.body import BESIDE_THE_MESSAGE_BYTES, read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import listed, shown_columns
from reference_broker.http.request.portions import Portion
from reference_broker.http.rows.rendering import binding_row

Listable: TypeAlias = Binding | str
"""A binding, or the name of a queue that stands for its implicit one."""


KEY_ENTRIES = 3
"""Entries of a portion that the making of a properties key counts for: it is about 3 us."""


class Bindings:
    """``/api/bindings`` and the paths below. A path names one source and one destination:
    ``e/SOURCE/q/QUEUE`` or ``e/SOURCE/e/EXCHANGE``."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        bindings = placed(vhosts_of(self._host.broker, request), _every)
        return await listed(request, bindings, listable_row, order=_order, is_there=is_bound)

    async def between(self, request: Request) -> Response:
        """Every binding between source and destination; none where one of them is not there, as
        RabbitMQ."""
        vhost = self._host.broker.vhosts.get(request.path_params["vhost"])
        if vhost is None:
            return json_response([])
        bindings = placed([vhost], lambda _: _between(vhost, request))
        return await listed(request, bindings, listable_row, is_there=is_bound)

    async def show(self, request: Request) -> Response:
        """The binding with the properties in the path (see :attr:`Binding.properties_key`)."""
        vhost = vhost_of(self._host.broker, request)
        return shown_columns(request, binding_row(await _binding(vhost, request), vhost.name))

    async def post(self, request: Request) -> Response:
        """Bind. 201 even if the binding was there; ``Location`` leads to it from this path."""
        body = await read_object(request, (), bytes_max=BESIDE_THE_MESSAGE_BYTES)
        key, arguments = body.get("routing_key", ""), arguments_of(body)
        if not isinstance(key, str):
            raise bad_request(["not_string", "routing_key"])
        source, destination, is_queue = _ends(request)
        with self._inputs.begin(request) as broker, refusals():
            vhost = vhost_to_change(broker, request)
            access_of(broker, request, vhost).require_binding(
                vhost, source, destination, key, to_queue=is_queue
            )
            vhost.bind(source, destination, key, arguments, destination_is_queue=is_queue)
        await self._inputs.defined()
        binding = Binding(source, destination, key, arguments, destination_is_queue=is_queue)
        location = f"{quote(destination, safe='')}/{quote(binding.properties_key, safe='')}"
        return Response(status_code=HTTPStatus.CREATED, headers={"location": location})

    async def delete(self, request: Request) -> Response:
        """Unbind the binding with the properties in the path."""
        source, destination, is_queue = _ends(request)
        binding = await _binding(vhost_of(self._host.broker, request), request)
        with self._inputs.begin(request) as broker, refusals():
            vhost = vhost_of(broker, request)
            if not is_bound(Placed(vhost, binding)):
                raise not_found()
            if source == DEFAULT_EXCHANGE:
                raise ChannelException(ReplyCode.ACCESS_REFUSED, "the default exchange")
            access_of(broker, request, vhost).require_binding(
                vhost, source, destination, binding.key, to_queue=is_queue
            )
            vhost.unbind(
                source, destination, binding.key, binding.arguments, destination_is_queue=is_queue
            )
        if binding.durable:
            await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)


def bindings_from(vhost: VHost, source: str) -> list[Listable]:
    """The bindings from an exchange, oldest first; none for an exchange that is not there."""
    if source == DEFAULT_EXCHANGE:
        return list(vhost.queues)
    return list(vhost.bindings_from(source))


def listable_row(each: Placed[Binding] | Placed[Listable]) -> Row:
    """The row of a binding, declared or implicit."""
    binding = each.item
    if isinstance(binding, str):
        binding = Binding(DEFAULT_EXCHANGE, binding, binding)
    return binding_row(binding, each.vhost.name)


def is_bound(each: Placed[Binding] | Placed[Listable]) -> bool:
    """False for a binding that has gone."""
    binding, vhost = each.item, each.vhost
    if isinstance(binding, str):
        return binding in vhost.queues
    if binding.source == DEFAULT_EXCHANGE:
        return binding.destination in vhost.queues
    exchange = vhost.exchanges.get(binding.source)
    return exchange is not None and exchange.bindings.get(binding.identity) is binding


def _order(each: Placed[Listable]) -> tuple[str, str, bool, str, str]:
    """RabbitMQ's order: by virtual host, source, kind of destination, destination and key."""
    binding = each.item
    if isinstance(binding, str):
        return (each.vhost.name, DEFAULT_EXCHANGE, True, binding, binding)
    is_queue = binding.destination_is_queue
    return (each.vhost.name, binding.source, is_queue, binding.destination, binding.key)


def _every(vhost: VHost) -> list[Listable]:
    """Every binding of a virtual host: the implicit ones first, then exchange by exchange."""
    exchanges = vhost.exchanges.values()
    held = [list(exchange.bindings.values()) for exchange in exchanges if exchange.bindings]
    return [*vhost.queues, *chain.from_iterable(held)]


def _ends(request: Request) -> tuple[str, str, bool]:
    """Source, destination, and true if that is a queue."""
    source = exchange_name(request, "source")
    if "queue" in request.path_params:
        return source, request.path_params["queue"], True
    return source, exchange_name(request, "destination"), False


def _between(vhost: VHost, request: Request) -> list[Binding]:
    """The bindings between two ends. Looks at the destination's only: an exchange may have very
    many."""
    source, destination, is_queue = _ends(request)
    to = vhost.bindings_to(destination, is_queue=is_queue)
    return [binding for binding in to if binding.source == source]


async def _binding(vhost: VHost, request: Request) -> Binding:
    """The binding in the path, looked for in portions. Raises :exc:`ApiError` 404."""
    wanted = properties_key_in(request.path_params["properties_key"])
    portion = Portion(request)
    for binding in _between(vhost, request):
        if binding.properties_key == wanted:
            return binding
        if portion.spend(KEY_ENTRIES):
            await portion.end()
    raise not_found()


def properties_key_in(segment: str) -> str:
    """The :attr:`Binding.properties_key` that a path means, which was percent-decoded once.

    RabbitMQ decodes it again like a query string, so a key is found as it is listed, quoted once
    more (``a.%2523``), and as most people write it (``a.%23``).
    """
    key, _, digest = segment.partition("~")
    quoted = quote_plus(unquote_plus(key)).replace("~", "%7E")
    if digest:
        return f"{quoted}~{unquote_plus(digest)}"
    return quoted or "~"
