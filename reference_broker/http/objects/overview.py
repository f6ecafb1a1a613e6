"""``/api/overview``, ``/api/nodes`` and ``/api/whoami``: the broker as a whole."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.access.mechanisms import MECHANISMS
from reference_broker.core.access.users import User
from reference_broker.core.alarms import Alarm
from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.core.connection.handshake import PRODUCT, RABBITMQ_VERSION
from reference_broker.core.exchange.exchange import ExchangeType
from reference_broker.core.vhost.traffic import tables_dropped
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.objects.cluster import cluster_name
from reference_broker.http.objects.whole_cluster import (
    link_rows,
    member_of,
    overview_of_all,
    rows_of_nodes,
    stopped_row,
)
from reference_broker.http.request.answer import ApiError, Row, json_response, not_found
from reference_broker.http.request.authentication import user_of
from reference_broker.http.request.authorization import is_monitoring, may_see, visible_vhosts
from reference_broker.http.request.host import Host, Node
from reference_broker.http.request.listing import listed, only, shown_columns, stats_disabled
from reference_broker.http.request.peers import Peers, asks_others, passed_on
from reference_broker.http.request.portions import stepped
from reference_broker.http.rows.process import descriptors_max
from reference_broker.http.rows.sampler import Sampler
from reference_broker.http.rows.series import BASIC, GLOBAL
from reference_broker.http.rows.statistics import Spans, Statistics
from reference_broker.http.rows.tls_columns import tls_options
from reference_broker.http.rows.totals import TOTALS_ENTRIES, Totals, VHostTotals

_RETENTION = {
    "global": [level.step_ms * level.length // 1000 for level in GLOBAL],
    "basic": [level.step_ms * level.length // 1000 for level in BASIC],
    "detailed": [level.step_ms * level.length // 1000 for level in BASIC[:1]],
}


_FOR_MONITORING = ("listeners", "contexts", "node")


class Sight(NamedTuple):
    """The objects that somebody's totals are of."""

    vhosts: list[VHost]
    connections: list[Connection]

    @classmethod
    def of(cls, broker: Broker, user: User) -> Sight:
        opened = [each for each in broker.connections.values() if each.vhost is not None]
        if is_monitoring(user):
            return cls(list(broker.vhosts.values()), opened)
        own = [connection for connection in opened if may_see(user, connection)]
        return cls(visible_vhosts(broker, user), own)


class Overview:
    """The answers about the broker itself."""

    def __init__(
        self, host: Host, statistics: Statistics, sampler: Sampler, peers: Peers | None = None
    ) -> None:
        self._host = host
        self._statistics = statistics
        self._sampler = sampler
        self._peers = peers

    async def overview(self, request: Request) -> Response:
        """Totals of everything for whoever is monitoring, else of the objects that the user may
        see."""
        row, peers = await self._own_overview(request), asks_others(request, self._peers)
        if peers is not None:
            row = await overview_of_all(request, peers, row)
        return shown_columns(request, row)

    async def _own_overview(self, request: Request) -> Row:
        """The overview of this node."""
        broker, node = self._host.broker, self._host.node()
        user, spans = user_of(request), Spans.parse(request.query_params)
        sight = Sight.of(broker, user)
        if stats_disabled(request):
            return plain_overview_row(broker, node, sight)
        totals = Totals(broker)
        await stepped(request, totals.read(), TOTALS_ENTRIES)
        row = overview_row(broker, node, sight, totals)
        if is_monitoring(user):
            return self._statistics.of_broker(row, broker, totals, spans)
        for name in _FOR_MONITORING:
            del row[name]
        return self._statistics.of_vhosts(row, broker, sight.vhosts, totals, spans)

    async def reset(self, request: Request) -> Response:
        """Forget all samples of this node, or of another: rates begin anew."""
        name = request.path_params.get("node", self._host.node().name)
        if name != self._host.node().name:
            peers = asks_others(request, self._peers)
            member = None if peers is None else member_of(peers, name)
            if peers is None or member is None:
                raise not_found()
            return await passed_on(request, peers, [member])
        self._sampler.forget()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def nodes(self, request: Request) -> Response:
        spans, disabled = Spans.parse(request.query_params), stats_disabled(request)

        def row_of(node: Node) -> Row:
            row = self._node_row(node, spans)
            return only(row, [("name",), ("type",), ("running",)]) if disabled else row

        own = row_of(self._host.node())
        peers = asks_others(request, self._peers)
        if peers is None:
            return await listed(request, [own], dict)
        others, headers = await rows_of_nodes(request, peers)
        return await listed(
            request, [own, *others], dict, order=lambda row: row["name"], headers=headers
        )

    async def node(self, request: Request) -> Response:
        node, name = self._host.node(), request.path_params["node"]
        spans = Spans.parse(request.query_params)
        if name == node.name:
            return shown_columns(request, self._node_row(node, spans))
        peers = asks_others(request, self._peers)
        member = None if peers is None else member_of(peers, name)
        if peers is None or member is None:
            raise not_found()
        try:
            return await passed_on(request, peers, [member])
        except ApiError as error:
            return shown_columns(request, stopped_row(name), error.headers)

    async def whoami(self, request: Request) -> Response:
        user = user_of(request)
        return json_response({"name": user.name, "tags": list(user.tags)})

    def _node_row(self, node: Node, spans: Spans) -> Row:
        broker = self._host.broker
        row = node_row(broker, node, self._host.now()[1])
        if self._peers is not None:
            row["cluster_links"] = link_rows(self._peers)
        return self._statistics.of_node(row, broker, node, spans)


def plain_overview_row(broker: Broker, node: Node, sight: Sight) -> Row:
    """The broker without the columns that have to be counted."""
    return {
        **_about(broker, node),
        "disable_stats": True,
        "object_totals": {
            "queues": sum(len(vhost.queues) for vhost in sight.vhosts),
            "exchanges": sum(len(vhost.exchanges) for vhost in sight.vhosts),
            "connections": len(sight.connections),
        },
    }


def overview_row(broker: Broker, node: Node, sight: Sight, totals: Totals) -> Row:
    """The broker, with totals over the objects in sight."""
    seen = [totals.by_vhost.get(vhost.name, VHostTotals()) for vhost in sight.vhosts]
    return {
        **_about(broker, node),
        "statistics_db_event_queue": 0,
        "listeners": [
            {
                "node": node.name,
                "protocol": listening.protocol,
                "ip_address": listening.host,
                "port": listening.port,
                "socket_opts": {"nodelay": True, **tls_options(listening.tls)},
            }
            for listening in node.listening
        ],
        "contexts": _contexts(node),
        "object_totals": {
            "connections": len(sight.connections),
            "channels": sum(len(connection.channels) for connection in sight.connections),
            "consumers": sum(each.consumers for each in seen),
            "exchanges": sum(len(vhost.exchanges) for vhost in sight.vhosts),
            "queues": sum(len(vhost.queues) for vhost in sight.vhosts),
        },
    }


def _about(broker: Broker, node: Node) -> Row:
    """Names and versions. There is no Erlang; but its version is a text that typed clients can't do
    without."""
    return {
        "product_name": PRODUCT,
        "product_version": broker.version,
        "rabbitmq_version": RABBITMQ_VERSION,
        "management_version": RABBITMQ_VERSION,
        "erlang_version": "",
        "erlang_full_version": "",
        "release_series_support_status": "supported",
        "cluster_name": cluster_name(broker, node),
        "node": node.name,
        "rates_mode": "basic",
        "sample_retention_policies": _RETENTION,
        "disable_stats": False,
        "enable_queue_totals": False,
        "exchange_types": _exchange_types(),
    }


def _contexts(node: Node) -> list[Row]:
    """The listening sockets of the management API."""
    return [
        {
            "node": node.name,
            "description": "RabbitMQ Management",
            "path": "/",
            "ip": listening.host,
            "port": str(listening.port),
            "ssl_opts": tls_options(listening.tls) or [],
        }
        for listening in node.listening
        if listening.protocol in ("http", "https")
    ]


def node_row(broker: Broker, node: Node, wall_ms: int) -> Row:
    """The process, without its statistics. The memory alarm goes by what is accounted (see
    :class:`~reference_broker.core.alarms.MemoryWatermark`), which is less than ``mem_used``."""
    alarms = broker.alarms.on
    return {
        "name": node.name,
        "type": "disc" if node.data_dir is not None else "ram",
        "running": node.running,
        "os_pid": str(os.getpid()),
        "uptime": wall_ms - node.started_at_ms,
        "processors": os.cpu_count() or 1,
        "rates_mode": "basic",
        "partitions": [],
        "being_drained": node.draining,
        "fd_total": descriptors_max(),
        "sockets_total": broker.limits.connections_max,
        "mem_limit": broker.memory.watermark_bytes,
        "mem_alarm": Alarm.MEMORY in alarms,
        "mem_calculation_strategy": "rss",
        "disk_free_limit": node.disk_free_limit_bytes,
        "disk_free_alarm": Alarm.DISK in alarms,
        "db_dir": "" if node.data_dir is None else str(node.data_dir),
        "store_damage": node.store_damage._asdict(),
        "longest_turn_ms": round(node.longest_turn_ms, 3),
        "longest_turn_cause": node.longest_turn_cause,
        "dead_letter_tables_dropped": tables_dropped(broker.past, broker.vhosts.values()),
        "exchange_types": _exchange_types(),
        "auth_mechanisms": [
            {"name": name, "description": description, "enabled": name in broker.mechanisms}
            for name, description in MECHANISMS.items()
        ],
        "applications": [{"name": "mqkit", "description": PRODUCT, "version": broker.version}],
        "cluster_links": [],
        "config_files": [],
        "contexts": _contexts(node),
        "log_files": [],
        "enabled_plugins": ["rabbitmq_management"],
    }


def _exchange_types() -> list[Row]:
    return [
        {"name": type.value, "description": f"AMQP {type.value} exchange", "enabled": True}
        for type in ExchangeType
    ]
