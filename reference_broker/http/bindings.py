"""``/api/bindings``: what is bound to what.

The default exchange has a binding to every queue, which nobody declared. In a list each is made
when it is rendered, from the queue's name: ten thousand at once would stop the loop.
"""

from __future__ import annotations

from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.binding import Binding
from reference_broker.core.exchange import DEFAULT_EXCHANGE
from reference_broker.core.vhost import VHost
from reference_broker.http.answer import Row, not_found
from reference_broker.http.host import Host
from reference_broker.http.listing import listed, shown_columns
from reference_broker.http.rendering import binding_row
from reference_broker.http.vhosts import exchange_name, placed, vhost_of, vhosts_of

Listable: TypeAlias = Binding | str
"""A binding, or the name of a queue that stands for its implicit one."""


class Bindings:
    """``/api/bindings`` and what is below. A path names one source and one destination:
    ``e/SOURCE/q/QUEUE`` or ``e/SOURCE/e/EXCHANGE``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def index(self, request: Request) -> Response:
        bindings = placed(vhosts_of(self._host.broker, request), _every)
        return await listed(
            request, bindings, lambda each: listable_row(each.item, each.vhost.name)
        )

    async def between(self, request: Request) -> Response:
        """Every binding between the two; none where one of them is not there, as RabbitMQ."""
        vhost = vhost_of(self._host.broker, request)
        bindings = _between(vhost, request)
        return await listed(request, bindings, lambda binding: binding_row(binding, vhost.name))

    async def show(self, request: Request) -> Response:
        """The one with these properties (see :attr:`Binding.properties_key`)."""
        vhost = vhost_of(self._host.broker, request)
        for binding in _between(vhost, request):
            if binding.properties_key == request.path_params["properties_key"]:
                return shown_columns(request, binding_row(binding, vhost.name))
        raise not_found()


def bindings_from(vhost: VHost, source: str) -> list[Listable]:
    """What is bound from an exchange, oldest first; nothing for one that is not there."""
    if source == DEFAULT_EXCHANGE:
        return list(vhost.queues)
    return list(vhost.bindings_from(source))


def listable_row(binding: Listable, vhost: str) -> Row:
    """The row of either kind."""
    if isinstance(binding, str):
        binding = Binding(DEFAULT_EXCHANGE, binding, binding)
    return binding_row(binding, vhost)


def _every(vhost: VHost) -> list[Listable]:
    """The implicit ones first, then exchange by exchange."""
    return [binding for source in vhost.exchanges for binding in bindings_from(vhost, source)]


def _between(vhost: VHost, request: Request) -> list[Binding]:
    """Looks at the destination's bindings only: an exchange may have very many."""
    source = exchange_name(request, "source")
    if "queue" in request.path_params:
        to = vhost.bindings_to(request.path_params["queue"], is_queue=True)
    else:
        to = vhost.bindings_to(exchange_name(request, "destination"), is_queue=False)
    return [binding for binding in to if binding.source == source]
