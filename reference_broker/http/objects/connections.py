"""``/api/connections``, ``/api/channels`` and ``/api/consumers``: listing them, and closing a
connection."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.connection.connection import Connection
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.errors import ConnectionException, ReplyCode
from reference_broker.http.access.vhosts import named_vhosts
from reference_broker.http.objects.consumer_details import (
    COLUMN,
    CONSUMERS,
    ROW,
    consumers_here,
    is_shown,
)
from reference_broker.http.objects.single_active import (
    ACTIVE,
    BY_QUEUE,
    ORIGIN,
    PART,
    SingleActives,
    active_here,
    part_asked,
    place_of,
)
from reference_broker.http.request.answer import Row, bad_request, not_found
from reference_broker.http.request.authentication import not_authorised, user_of
from reference_broker.http.request.authorization import (
    NOT_THE_OBJECT,
    is_administrator,
    is_monitoring,
    may_see,
)
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host
from reference_broker.http.request.listing import (
    listed,
    shown_columns,
    shown_with,
    stats_disabled,
    wants_column,
)
from reference_broker.http.request.peer_rows import (
    BY_NAME,
    NOBODY,
    Answered,
    Own,
    PeerRow,
    listed_everywhere,
    listed_with_others,
    rows_of_others,
)
from reference_broker.http.request.peers import (
    Peers,
    asked_by,
    asks_others,
    gathered,
    member_named,
    passed_on,
    unreachable_header,
)
from reference_broker.http.request.portions import collected
from reference_broker.http.request.turn_share import next_turn
from reference_broker.http.rows.rendering import (
    channel_detail_row,
    channel_name,
    channel_row,
    connection_row,
    is_consuming,
    tracked_row,
)
from reference_broker.http.rows.statistics import Spans, Statistics

_CLOSED_BY = "Closed via management plugin"

INPUT_CONNECTIONS = 50
"""Connections that are closed in one input of the core."""


class Connections:
    """Connections, channels and consumers. A connection is shown once it has chosen a virtual
    host."""

    def __init__(self, host: Host, statistics: Statistics, peers: Peers | None = None) -> None:
        self._host = host
        self._statistics = statistics
        self._peers = peers
        self._inputs = CoreInputs(host)

    async def index(self, request: Request) -> Response:
        """All connections, or those of one virtual host."""
        node = self._host.node().name
        spans = Spans.parse(request.query_params)

        def row_of(connection: Connection) -> Row:
            if stats_disabled(request):
                return tracked_row(connection, node)
            row = connection_row(connection, node)
            return self._statistics.of_connection(row, connection, spans)

        own = Own(self._open(request), row_of, _name_of, _name_of, _is_there)
        return await listed_everywhere(request, self._peers, own, BY_NAME)

    async def show(self, request: Request) -> Response:
        peers = self._peers_for(request)
        if peers is not None:
            return await passed_on(request, peers, peers.others)
        connection, spans = self._seen(request), Spans.parse(request.query_params)
        row = connection_row(connection, self._host.node().name)
        return shown_columns(request, self._statistics.of_connection(row, connection, spans))

    async def close(self, request: Request) -> Response:
        """Close a connection (320). ``X-Reason`` is the text for its client. The connection is
        listed until the client has answered, which the request waits for a moment."""
        peers = self._peers_for(request)
        if peers is not None:
            return await passed_on(request, peers, peers.others)
        connection = self._connection(request)
        await self._close([connection], request)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def of_user(self, request: Request) -> Response:
        """The connections of a user: one's own, or anybody's for whoever is monitoring."""
        user, node = user_of(request), self._host.node().name
        if not is_monitoring(user) and user.name != request.path_params["user"]:
            raise not_authorised(NOT_THE_OBJECT)
        connections = self._of_user(request)
        own = Own(
            connections,
            lambda connection: tracked_row(connection, node),
            _name_of,
            _name_of,
            _is_there,
        )
        return await listed_everywhere(request, self._peers, own, BY_NAME)

    async def close_of_user(self, request: Request) -> Response:
        """Close every connection of a user, who may have none."""
        await self._close(self._of_user(request), request)
        peers, headers = asks_others(request, self._peers), {}
        if peers is not None:
            query = request.query_params.multi_items()
            found = await gathered(request, peers, peers.others, query)
            headers = unreachable_header(found.unreachable)
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)

    async def channels(self, request: Request) -> Response:
        """All channels, or those of one virtual host or one connection."""
        _need_stats(request)
        node = self._host.node().name
        peers = self._peers_for(request) if "connection" in request.path_params else None
        if peers is not None:
            return await self._channels_elsewhere(request, peers)
        if "connection" in request.path_params:
            connections: Sequence[Connection] = [self._seen(request)]
        else:
            connections = self._open(request)
        spans = Spans.parse(request.query_params)
        own = Own(
            _channels_of(connections),
            lambda channel: self._statistics.of_channel(channel_row(channel, node), channel, spans),
            channel_name,
            channel_name,
            _is_open,
        )
        everywhere = None if "connection" in request.path_params else self._peers
        return await listed_everywhere(request, everywhere, own, BY_NAME)

    async def _channels_elsewhere(self, request: Request, peers: Peers) -> Response:
        """The channels of a connection of another node."""
        found = await rows_of_others(request, peers, BY_NAME)
        if not found.answered:
            raise not_found()
        return await listed(
            request,
            found.rows,
            PeerRow.row,
            lambda row: row.name,
            lambda row: row.place,
            headers=found.headers,
        )

    async def channel(self, request: Request) -> Response:
        _need_stats(request)
        part, node = part_asked(request), self._host.node().name
        if part == ACTIVE:
            return await active_here(request, list(self._host.broker.vhosts.values()))
        channel, peers = self._channel(request), asks_others(request, self._peers)
        if channel is None:
            if peers is None:
                raise not_found()
            return await self._channel_elsewhere(request, peers)
        consumers = list(channel.consumers.values())
        if part == CONSUMERS:
            return await consumers_here(request, consumers, node)
        row, spans = channel_detail_row(channel, node), Spans.parse(request.query_params)
        row = self._statistics.of_channel(row, channel, spans)
        if part == ROW:
            return shown_columns(request, row, always={ORIGIN: member_named(node)})
        return await self._with_details(request, row, consumers, NOBODY)

    def _channel(self, request: Request) -> Channel | None:
        """The channel in the path, where it is one of this node."""
        name = request.path_params["channel"]
        for connection in self._named(request):
            if not name.startswith(str(connection.peer)):
                continue
            for channel in _channels_of([connection]):
                if channel_name(channel) == name:
                    _must_see(request, connection)
                    return channel
        return None

    async def _channel_elsewhere(self, request: Request, peers: Peers) -> Response:
        """The row of a channel of another node, which tells its consumers apart from it."""
        if not wants_column(request, COLUMN):
            return await passed_on(request, peers, peers.others)
        response = await passed_on(request, peers, peers.others, (PART, ROW))
        if response.status_code != HTTPStatus.OK:
            return response
        row = json.loads(bytes(response.body))
        nodes, query = [row.pop(ORIGIN)], [(PART, CONSUMERS)]
        found = await rows_of_others(request, peers, BY_QUEUE, nodes, query=query)
        return await self._with_details(request, row, [], found)

    async def _with_details(
        self, request: Request, row: Row, own: Sequence[Consumer], others: Answered
    ) -> Response:
        """The row of a channel with its consumers, which are those of one node."""
        actives, others = await self._actives(request, own, others)
        consumers: list[Consumer | PeerRow] = [*own, *others.rows]
        response = await shown_with(request, row, COLUMN, consumers, actives.row, is_shown)
        response.headers.update(others.headers)
        return response

    async def _actives(
        self, request: Request, own: Sequence[Consumer], others: Answered
    ) -> tuple[SingleActives, Answered]:
        """The single active consumers among these, and ``others`` with the homes that have not said
        which they are."""
        actives = SingleActives(self._host.broker, self._host.node().name)
        peers = asks_others(request, self._peers)
        if peers is not None:
            others = await actives.ask(request, peers, own, others)
        return actives, others

    async def consumers(self, request: Request) -> Response:
        _need_stats(request)
        node = self._host.node().name
        if part_asked(request) == ACTIVE:
            return await active_here(request, named_vhosts(self._host.broker, request))
        consumers = (
            consumer
            for channel in _channels_of(self._open(request))
            for consumer in list(channel.consumers.values())
        )
        peers = asks_others(request, self._peers)
        if asked_by(request):
            return await consumers_here(request, consumers, node)
        found, _ = await collected(request, consumers)
        others = NOBODY if peers is None else await rows_of_others(request, peers, BY_QUEUE)
        actives, others = await self._actives(request, found, others)
        own = Own(found, actives.row, None, place_of, is_consuming)
        return await listed_with_others(request, own, others, actives.row)

    def _peers_for(self, request: Request) -> Peers | None:
        """The nodes that may have the connection in the path; ``None`` where it is here, or this
        node is to answer for itself."""
        name = request.path_params["connection"]
        if any(str(each.peer) == name for each in self._named(request)):
            return None
        return asks_others(request, self._peers)

    def _open(self, request: Request) -> list[Connection]:
        """The connections that the user may see: their owner decides, and not their virtual
        host."""
        user = user_of(request)
        return [each for each in self._named(request) if may_see(user, each)]

    def _named(self, request: Request) -> list[Connection]:
        """Everybody's connections, in the virtual host that the request names, or in all."""
        names = {vhost.name for vhost in named_vhosts(self._host.broker, request)}
        connections = self._host.broker.connections.values()
        return [each for each in connections if each.vhost is not None and each.vhost.name in names]

    def _connection(self, request: Request) -> Connection:
        name = request.path_params["connection"]
        for connection in self._named(request):
            if str(connection.peer) == name:
                return connection
        raise not_found()

    def _seen(self, request: Request) -> Connection:
        connection = self._connection(request)
        _must_see(request, connection)
        return connection

    def _of_user(self, request: Request) -> list[Connection]:
        name = request.path_params["user"]
        return [each for each in self._named(request) if each.user_name == name]

    async def _close(self, connections: Sequence[Connection], request: Request) -> None:
        """Close these connections. Raises :exc:`ApiError` 401 for somebody else's, unless an
        administrator asks."""
        user = user_of(request)
        for connection in connections:
            if connection.user_name != user.name and not is_administrator(user):
                raise not_authorised(NOT_THE_OBJECT)
        # A header's octets come as Latin-1; people write UTF-8 (and so does rabbitmqctl).
        reason = (
            request.headers.get("x-reason", _CLOSED_BY).encode("latin-1").decode("utf-8", "replace")
        )
        forced = ConnectionException(ReplyCode.CONNECTION_FORCED, reason)
        with self._inputs.begin(request):
            _fail(connections[:INPUT_CONNECTIONS], forced)
        for start in range(INPUT_CONNECTIONS, len(connections), INPUT_CONNECTIONS):
            await next_turn(request)
            with self._inputs.go_on():
                _fail(connections[start : start + INPUT_CONNECTIONS], forced)
        await self._inputs.ended(connections)


def _fail(connections: Sequence[Connection], forced: ConnectionException) -> None:
    for connection in connections:
        connection.fail(forced)


def _channels_of(connections: Sequence[Connection]) -> Iterator[Channel]:
    """The open channels of connections, as of now. They may be taken in portions."""
    held = [list(connection.channels.values()) for connection in connections]
    return (channel for channels in held for channel in channels if _is_open(channel))


def _is_open(channel: Channel) -> bool:
    return channel.state is not ChannelState.CLOSED


def _name_of(connection: Connection) -> str:
    return str(connection.peer)


def _is_there(connection: Connection) -> bool:
    return connection.state is not ConnectionState.CLOSED


def _must_see(request: Request, connection: Connection) -> None:
    """Raises :exc:`ApiError` 401 for a connection that is somebody else's."""
    if not may_see(user_of(request), connection):
        raise not_authorised(NOT_THE_OBJECT)


def _need_stats(request: Request) -> None:
    if stats_disabled(request):
        raise bad_request("Stats in management UI are disabled on this node")
