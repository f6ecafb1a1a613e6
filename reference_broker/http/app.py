"""The application: which path leads where. One line per path, one file per noun.

Paths are matched as they were sent: a name may have a slash in it, as ``%2F``, which is the name
of the default virtual host.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.errors import AmqpError
from reference_broker.http.answer import (
    ApiError,
    answer_amqp_error,
    answer_api_error,
    answer_http_exception,
    answer_mistake,
)
from reference_broker.http.authentication import Authentication
from reference_broker.http.bindings import Bindings
from reference_broker.http.connections import Connections
from reference_broker.http.definitions import Definitions
from reference_broker.http.exchanges import Exchanges
from reference_broker.http.host import Host
from reference_broker.http.overview import Overview
from reference_broker.http.page import Page
from reference_broker.http.queue_move import QueueMove
from reference_broker.http.queues import Queues
from reference_broker.http.vhosts import VHosts


class _NameConvertor(Convertor[str]):
    """One segment of a path, percent-decoded. It may be empty: so is the default exchange's."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


register_url_convertor("name", _NameConvertor())


class _RawPath:
    """Has the application see the path before it was percent-decoded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["raw_path"].decode("ascii", "replace")
        await self._app({**scope, "path": path}, receive, send)


def build_app(host: Host) -> Starlette:
    """The management API of ``host``'s broker, which must be there already."""
    app = Starlette(
        routes=_routes(host),
        middleware=[
            Middleware(Page),
            Middleware(Authentication, users=host.broker.users),
            Middleware(_RawPath),
        ],
        exception_handlers={
            ApiError: answer_api_error,
            AmqpError: answer_amqp_error,
            HTTPException: answer_http_exception,
            Exception: answer_mistake,
        },
    )
    app.router.redirect_slashes = False
    return app


def _routes(host: Host) -> list[Route]:
    overview, vhosts, connections = Overview(host), VHosts(host), Connections(host)
    queues, exchanges, bindings = Queues(host), Exchanges(host), Bindings(host)
    definitions = Definitions(host)
    queue = "/api/queues/{vhost:name}/{queue:name}"
    exchange = "/api/exchanges/{vhost:name}/{exchange:name}"
    to_queue = "/api/bindings/{vhost:name}/e/{source:name}/q/{queue:name}"
    to_exchange = "/api/bindings/{vhost:name}/e/{source:name}/e/{destination:name}"
    return [
        Route("/api/overview", overview.overview),
        Route("/api/whoami", overview.whoami),
        Route("/api/nodes", overview.nodes),
        Route("/api/nodes/{node:name}", overview.node),
        Route("/api/vhosts", vhosts.index),
        Route("/api/vhosts/{vhost:name}", vhosts.show),
        Route("/api/connections", connections.index),
        Route("/api/connections/{connection:name}", connections.show),
        Route("/api/channels", connections.channels),
        Route("/api/consumers", connections.consumers),
        Route("/api/consumers/{vhost:name}", connections.consumers),
        Route("/api/exchanges", exchanges.index),
        Route("/api/exchanges/{vhost:name}", exchanges.index),
        Route(exchange, exchanges.show),
        Route(exchange + "/bindings/source", exchanges.bindings_from),
        Route(exchange + "/bindings/destination", exchanges.bindings_to),
        Route(exchange + "/publish", exchanges.publish, methods=["POST"]),
        Route("/api/queues", queues.index),
        Route("/api/queues/{vhost:name}", queues.index),
        Route(queue, queues.show),
        Route(queue + "/bindings", queues.bindings),
        Route(queue + "/get", queues.get, methods=["POST"]),
        Route(queue + "/contents", queues.purge, methods=["DELETE"]),
        Route(queue + "/move", QueueMove(host).move, methods=["POST"]),
        Route("/api/bindings", bindings.index),
        Route("/api/bindings/{vhost:name}", bindings.index),
        Route(to_queue, bindings.between),
        Route(to_queue + "/{properties_key:name}", bindings.show),
        Route(to_exchange, bindings.between),
        Route(to_exchange + "/{properties_key:name}", bindings.show),
        Route("/api/definitions", definitions.export),
        Route("/api/definitions", definitions.load, methods=["POST"]),
        Route("/api/definitions/{vhost:name}", definitions.export),
        Route("/api/definitions/{vhost:name}", definitions.load, methods=["POST"]),
    ]
