"""``/api/connections``, ``/api/channels`` and ``/api/consumers``: who is there."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.channel import Channel
from reference_broker.core.channel_state import ChannelState
from reference_broker.core.connection import Connection
from reference_broker.http.answer import not_found
from reference_broker.http.host import Host
from reference_broker.http.listing import listed, shown_columns
from reference_broker.http.rendering import channel_row, connection_row, consumer_row
from reference_broker.http.vhosts import vhosts_of


class Connections:
    """Who is connected. A connection is shown once it has chosen a virtual host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def index(self, request: Request) -> Response:
        node = self._host.node().name
        return await listed(
            request,
            self._open(),
            lambda connection: connection_row(connection, node),
            lambda connection: str(connection.peer),
        )

    async def show(self, request: Request) -> Response:
        name = request.path_params["connection"]
        for connection in self._open():
            if str(connection.peer) == name:
                return shown_columns(request, connection_row(connection, self._host.node().name))
        raise not_found()

    async def channels(self, request: Request) -> Response:
        node = self._host.node().name
        return await listed(
            request,
            self._channels(),
            lambda channel: channel_row(channel, node),
            lambda channel: f"{channel.connection.peer} ({channel.number})",
        )

    async def consumers(self, request: Request) -> Response:
        node = self._host.node().name
        vhosts = vhosts_of(self._host.broker, request)
        consumers = [
            consumer
            for channel in self._channels()
            if channel.vhost in vhosts
            for consumer in channel.consumers.values()
        ]
        return await listed(request, consumers, lambda consumer: consumer_row(consumer, node))

    def _open(self) -> list[Connection]:
        connections = self._host.broker.connections.values()
        return [connection for connection in connections if connection.vhost is not None]

    def _channels(self) -> list[Channel]:
        return [
            channel
            for connection in self._open()
            for channel in connection.channels.values()
            if channel.state is not ChannelState.CLOSED
        ]
