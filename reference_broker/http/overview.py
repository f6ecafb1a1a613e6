"""``/api/overview``, ``/api/nodes`` and ``/api/whoami``: the broker as a whole."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.alarms import Alarm
from reference_broker.core.broker import Broker
from reference_broker.core.exchange import ExchangeType
from reference_broker.core.handshake import MECHANISMS, PRODUCT
from reference_broker.http.answer import Row, json_response, not_found
from reference_broker.http.authentication import user_of
from reference_broker.http.host import Host, Node
from reference_broker.http.listing import listed, shown_columns

RABBITMQ_VERSION = "4.0.0"
"""The RabbitMQ whose behaviour and names are followed: tools choose by it what they ask for."""

_STATM = Path("/proc/self/statm")
_DESCRIPTORS = Path("/proc/self/fd")


class Overview:
    """The answers about the broker itself."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def overview(self, request: Request) -> Response:
        row = overview_row(self._host.broker, self._host.node())
        return shown_columns(request, row)

    async def nodes(self, request: Request) -> Response:
        return await listed(
            request, [self._host.node()], lambda node: self._node_row(node), lambda node: node.name
        )

    async def node(self, request: Request) -> Response:
        node = self._host.node()
        if request.path_params["node"] != node.name:
            raise not_found()
        return shown_columns(request, self._node_row(node))

    async def whoami(self, request: Request) -> Response:
        user = user_of(request)
        return json_response({"name": user.name, "tags": list(user.tags)})

    def _node_row(self, node: Node) -> Row:
        return node_row(self._host.broker, node, self._host.now()[1])


def overview_row(broker: Broker, node: Node) -> Row:
    """Totals over all virtual hosts."""
    vhosts = broker.vhosts.values()
    queues = [queue for vhost in vhosts for queue in vhost.queues.values()]
    ready = sum(queue.ready for queue in queues)
    unacked = sum(queue.unacked for queue in queues)
    open_connections = [c for c in broker.connections.values() if c.vhost is not None]
    return {
        "product_name": PRODUCT,
        "product_version": broker.version,
        "rabbitmq_version": RABBITMQ_VERSION,
        "management_version": RABBITMQ_VERSION,
        "cluster_name": node.name,
        "node": node.name,
        "rates_mode": "none",
        "disable_stats": False,
        "enable_queue_totals": False,
        "exchange_types": _exchange_types(),
        "listeners": [
            {"node": node.name, "protocol": protocol, "ip_address": host, "port": port}
            for protocol, host, port in node.listening
        ],
        "contexts": [],
        "object_totals": {
            "connections": len(open_connections),
            "channels": sum(len(connection.channels) for connection in open_connections),
            "consumers": sum(len(queue.consumers) for queue in queues),
            "exchanges": sum(len(vhost.exchanges) for vhost in vhosts),
            "queues": len(queues),
        },
        "queue_totals": {
            "messages": ready + unacked,
            "messages_ready": ready,
            "messages_unacknowledged": unacked,
        },
    }


def node_row(broker: Broker, node: Node, wall_ms: int) -> Row:
    """The process. ``mem_used`` is its resident memory; the memory alarm goes by what is accounted
    (see :class:`~reference_broker.core.alarms.MemoryWatermark`), which is less."""
    alarms = broker.alarms.on
    descriptors_max, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return {
        "name": node.name,
        "type": "disc" if node.data_dir is not None else "ram",
        "running": node.running,
        "os_pid": str(os.getpid()),
        "uptime": wall_ms - node.started_at_ms,
        "processors": os.cpu_count() or 1,
        "rates_mode": "none",
        "partitions": [],
        "being_drained": False,
        "fd_used": _descriptors_used(),
        "fd_total": descriptors_max,
        "sockets_used": len(broker.connections),
        "sockets_total": broker.limits.connections_max,
        "mem_used": resident_bytes(),
        "mem_limit": broker.memory.watermark_bytes,
        "mem_alarm": Alarm.MEMORY in alarms,
        "mem_calculation_strategy": "rss",
        "disk_free": _disk_free(node.data_dir),
        "disk_free_limit": node.disk_free_limit_bytes,
        "disk_free_alarm": Alarm.DISK in alarms,
        "db_dir": "" if node.data_dir is None else str(node.data_dir),
        "io_sync_count": node.sync_count,
        "store_damage": node.store_damage._asdict(),
        "exchange_types": _exchange_types(),
        "auth_mechanisms": [
            {"name": name, "description": f"SASL {name}", "enabled": True}
            for name in MECHANISMS.split()
        ],
        "applications": [],
        "contexts": [],
        "enabled_plugins": ["rabbitmq_management"],
    }


def _exchange_types() -> list[Row]:
    return [
        {"name": type.value, "description": f"AMQP {type.value} exchange", "enabled": True}
        for type in ExchangeType
    ]


def resident_bytes() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no /proc: the peak is the nearest that there is (in KiB on Linux and BSD)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _descriptors_used() -> int:
    try:
        return len(os.listdir(_DESCRIPTORS))
    except OSError:
        return 0


def _disk_free(data_dir: Path | None) -> int:
    """Where the log is, or would be."""
    return shutil.disk_usage(data_dir or Path.cwd()).free
