"""``/api/connections``, ``/api/channels`` and ``/api/consumers``: who is there."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.channel import Channel
from reference_broker.core.channel_state import ChannelState
from reference_broker.core.connection import Connection
from reference_broker.http.answer import not_found
from reference_broker.http.authentication import not_authorised, user_of
from reference_broker.http.authorization import NOT_THE_OBJECT, may_see
from reference_broker.http.host import Host
from reference_broker.http.listing import listed, shown_columns
from reference_broker.http.rendering import channel_row, connection_row, consumer_row
from reference_broker.http.vhosts import vhost_of


class Connections:
    """Who is connected. A connection is shown once it has chosen a virtual host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def index(self, request: Request) -> Response:
        node = self._host.node().name
        return await listed(
            request,
            self._open(request),
            lambda connection: connection_row(connection, node),
            lambda connection: str(connection.peer),
        )

    async def show(self, request: Request) -> Response:
        name = request.path_params["connection"]
        for connection in self._open():
            if str(connection.peer) == name:
                if not may_see(user_of(request), connection):
                    raise not_authorised(NOT_THE_OBJECT)
                return shown_columns(request, connection_row(connection, self._host.node().name))
        raise not_found()

    async def channels(self, request: Request) -> Response:
        node = self._host.node().name
        return await listed(
            request,
            self._channels(request),
            lambda channel: channel_row(channel, node),
            lambda channel: f"{channel.connection.peer} ({channel.number})",
        )

    async def consumers(self, request: Request) -> Response:
        node = self._host.node().name
        vhost = vhost_of(self._host.broker, request) if "vhost" in request.path_params else None
        consumers = [
            consumer
            for channel in self._channels(request)
            if vhost in (None, channel.vhost)
            for consumer in channel.consumers.values()
        ]
        return await listed(request, consumers, lambda consumer: consumer_row(consumer, node))

    def _open(self, request: Request | None = None) -> list[Connection]:
        """With a request only those that its user may see."""
        return [
            connection
            for connection in self._host.broker.connections.values()
            if connection.vhost is not None
            and (request is None or may_see(user_of(request), connection))
        ]

    def _channels(self, request: Request) -> list[Channel]:
        return [
            channel
            for connection in self._open(request)
            for channel in connection.channels.values()
            if channel.state is not ChannelState.CLOSED
        ]
