"""The metrics of the broker as a whole: the process, what came and went, and everything that ever
went through (``rabbitmq_global_``), which only rises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import Metric

from reference_broker.core.alarms import Alarm
from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.broker import Broker
from reference_broker.core.queue.death import DeathReason
from reference_broker.core.vhost.traffic import tables_dropped
from reference_broker.http.objects.cluster import cluster_name
from reference_broker.http.request.host import Node
from reference_broker.http.rows import measures
from reference_broker.http.rows.process import descriptors_max, started_at_s
from reference_broker.http.rows.totals import Totals

_PROTOCOL = {"protocol": "amqp091"}
_TYPES = {
    QueueType.CLASSIC: {"queue_type": "rabbit_classic_queue"},
    QueueType.QUORUM: {"queue_type": "rabbit_quorum_queue"},
}

_CHURN_TEXTS = {
    "connections_opened": "Total number of connections opened",
    "connections_closed": "Total number of connections closed or terminated",
    "channels_opened": "Total number of channels opened",
    "channels_closed": "Total number of channels closed",
    "queues_declared": "Total number of queues declared",
    "queues_created": "Total number of queues created",
    "queues_deleted": "Total number of queues deleted",
}
"""Help texts in the order of :data:`measures.CHURN`."""

_TO_CONSUMERS = "Total number of messages delivered to consumers using basic."
_GLOBAL = {
    "confirm": ("messages_confirmed", "Total number of messages confirmed to publishers", False),
    "publish": ("messages_received", "Total number of messages received from publishers", False),
    "return_unroutable": (
        "messages_unroutable_returned",
        "Total number of messages published as mandatory into an exchange and returned to the"
        " publisher as unroutable",
        False,
    ),
    "drop_unroutable": (
        "messages_unroutable_dropped",
        "Total number of messages published as non-mandatory into an exchange and dropped as"
        " unroutable",
        False,
    ),
    "ack": (
        "messages_acknowledged",
        "Total number of messages acknowledged by consumers",
        True,
    ),
    "deliver": (
        "messages_delivered_consume_manual_ack",
        _TO_CONSUMERS + "consume with manual acknowledgment",
        True,
    ),
    "deliver_no_ack": (
        "messages_delivered_consume_auto_ack",
        _TO_CONSUMERS + "consume with automatic acknowledgment",
        True,
    ),
    "get": (
        "messages_delivered_get_manual_ack",
        _TO_CONSUMERS + "get with manual acknowledgment",
        True,
    ),
    "get_no_ack": (
        "messages_delivered_get_auto_ack",
        _TO_CONSUMERS + "get with automatic acknowledgment",
        True,
    ),
    "deliver_get": (
        "messages_delivered",
        "Total number of messages delivered to consumers",
        True,
    ),
    "get_empty": (
        "messages_get_empty",
        "Total number of times basic.get operations fetched no message",
        True,
    ),
    "redeliver": (
        "messages_redelivered",
        "Total number of messages redelivered to consumers",
        True,
    ),
}
"""Metric name, help text, and true where the type of queue is a label, by the counter's name in
``message_stats``."""

_DEATHS = {
    DeathReason.EXPIRED: "message TTL exceeded",
    DeathReason.MAXLEN: "overflow drop-head or reject-publish-dlx",
    DeathReason.REJECTED: "basic.reject or basic.nack",
    DeathReason.DELIVERY_LIMIT: "delivery-limit exceeded",
}


def single(
    name: str, kind: str, text: str, value: float, labels: dict[str, str] | None = None
) -> Metric:
    """A metric of one sample. ``name`` is as scrapers see it."""
    metric = Metric(name.removesuffix("_total") if kind == "counter" else name, text, kind)
    metric.add_sample(name, labels or {}, value)
    return metric


def churn_metrics(broker: Broker, prefix: str) -> Iterator[Metric]:
    """``connection_churn_metrics``: connections, channels and queues that came and went."""
    counts = measures.churn_of(broker)
    for (name, text), count in zip(_CHURN_TEXTS.items(), counts, strict=True):
        yield single(f"{prefix}{name}_total", "counter", text, count)


def login_metrics(broker: Broker, prefix: str) -> Iterator[Metric]:
    """Logins by protocol, for those over which somebody has tried."""
    counts = broker.login_attempts.counts()
    for name, text, values in (
        ("", "authorization attempts", [each.succeeded + each.failed for each in counts]),
        ("succeeded_", "successful authentication attempts", [each.succeeded for each in counts]),
        ("failed_", "failed authentication attempts", [each.failed for each in counts]),
    ):
        whole = f"{prefix}auth_attempts_{name}total"
        metric = Metric(whole.removesuffix("_total"), f"Total number of {text}", "counter")
        for each, value in zip(counts, values, strict=True):
            metric.add_sample(whole, {"protocol": each.protocol.value}, value)
        yield metric


def node_coarse_metrics(broker: Broker, node: Node, prefix: str) -> Iterator[Metric]:
    """Memory, sockets and files that the process uses."""
    texts = {
        "mem_used": ("process_resident_memory_bytes", "Memory used in bytes"),
        "fd_used": ("process_open_fds", "Open file descriptors"),
        "sockets_used": ("process_open_tcp_sockets", "Open TCP sockets"),
        "disk_free": ("disk_space_available_bytes", "Disk space available in bytes"),
    }
    values = dict(zip(measures.NODE, measures.measured_node(broker, node), strict=True))
    for key, (name, text) in texts.items():
        yield single(prefix + name, "gauge", text, values[key])


def node_metrics(broker: Broker, node: Node, wall_ms: int, prefix: str) -> Iterator[Metric]:
    """Limits of the process, and its uptime. Dashboards look for that under Erlang's name."""
    limits = broker.limits
    uptime_s = (wall_ms - node.started_at_ms) / 1000
    for name, text, value in (
        ("process_max_fds", "Open file descriptors limit", descriptors_max()),
        ("process_max_tcp_sockets", "Open TCP sockets limit", limits.connections_max),
        ("resident_memory_limit_bytes", "Memory high watermark in bytes",
         broker.memory.watermark_bytes),
        ("disk_space_available_limit_bytes", "Free disk space low watermark in bytes",
         node.disk_free_limit_bytes),
        ("erlang_uptime_seconds", "Node uptime", uptime_s),
    ):  # fmt: skip
        yield single(prefix + name, "gauge", text, value)


def persister_metrics(node: Node, prefix: str) -> Iterator[Metric]:
    """``node_persister_metrics``: the store's syncs."""
    text = "Total number of I/O sync operations"
    yield single(f"{prefix}io_sync_ops_total", "counter", text, node.sync_count)


def damage_metrics(node: Node) -> Iterator[Metric]:
    """Records and messages that the store could not read: ours, so not under RabbitMQ's prefix."""
    damage = node.store_damage
    for name, text, value in (
        ("lost_messages", "Messages that are lost, at most", damage.lost_messages),
        ("quarantined_bytes", "Bytes of the log set aside as unreadable", damage.quarantined_bytes),
        ("missing_segments", "Segments of the log that were not there", damage.missing_segments),
        ("unreadable_reads", "Messages that could not be read again", damage.unreadable_reads),
    ):
        yield single(f"mqkit_store_{name}", "gauge", text, value)


def turn_metrics(node: Node) -> Iterator[Metric]:
    """The longest turn of the loop, in which nobody else was served: ours."""
    text = "Processor time of the longest turn of the loop, in milliseconds"
    yield single("mqkit_longest_turn_ms", "gauge", text, node.longest_turn_ms)


def identity_metrics(broker: Broker, node: Node, version: str) -> Iterator[Metric]:
    """Labels that dashboards join on: the names of node and cluster, and the versions."""
    yield single(
        "rabbitmq_build_info",
        "untyped",
        "RabbitMQ & Erlang/OTP version info",
        1,
        {
            "rabbitmq_version": version,
            "prometheus_plugin_version": broker.version,
            "prometheus_client_version": broker.version,
            "erlang_version": "",
        },
    )
    yield single(
        "rabbitmq_identity_info",
        "untyped",
        "RabbitMQ node & cluster identity info",
        1,
        {
            "rabbitmq_node": node.name,
            "rabbitmq_cluster": cluster_name(broker, node),
            "rabbitmq_cluster_permanent_id": node.name,
        },
    )


def alarm_metrics(broker: Broker) -> Iterator[Metric]:
    """The alarms, and the time at which the process began."""
    started = started_at_s()
    if started is not None:
        text = "Start time of the process since unix epoch in seconds."
        yield single("process_start_time_seconds", "gauge", text, started)
    for name, text, is_on in (
        ("file_descriptor_limit", "file descriptor limit", False),
        ("free_disk_space_watermark", "free disk space watermark", Alarm.DISK in broker.alarms.on),
        ("memory_used_watermark", "memory used watermark", Alarm.MEMORY in broker.alarms.on),
    ):
        help_text = f"is 1 if {text.replace('memory used', 'VM memory')} alarm is in effect"
        yield single(f"rabbitmq_alarms_{name}", "untyped", help_text, int(is_on))


def object_totals(broker: Broker, totals: Totals) -> Iterator[Metric]:
    """Totals of connections, channels, consumers and queues."""
    connections = [each for each in broker.connections.values() if each.vhost is not None]
    queues = totals.whole.queues
    channels = sum(len(each.channels) for each in connections)
    consumers = totals.whole.consumers
    yield single("rabbitmq_connections", "gauge", "Connections currently open", len(connections))
    yield single("rabbitmq_channels", "gauge", "Channels currently open", channels)
    yield single("rabbitmq_consumers", "gauge", "Consumers currently connected", consumers)
    yield single("rabbitmq_queues", "gauge", "Queues available", queues)
    text = "Current number of consumers"
    yield single("rabbitmq_global_consumers", "gauge", text, consumers, _PROTOCOL)
    text = "Current number of publishers"
    yield single("rabbitmq_global_publishers", "gauge", text, totals.publishers, _PROTOCOL)


def global_metrics(broker: Broker, totals: Totals) -> Iterator[Metric]:
    """Messages that ever went through this process."""
    counts = dict(zip(measures.BROKER, measures.measured_broker(broker, totals), strict=True))
    by_type = measures.measured_by_queue_type(totals)
    for key, (name, text, tells_type) in _GLOBAL.items():
        whole = f"rabbitmq_global_{name}_total"
        if not tells_type:
            yield single(whole, "counter", text, counts[key], _PROTOCOL)
            continue
        metric = Metric(whole.removesuffix("_total"), text, "counter")
        for queue_type, values in by_type.items():
            value = values[measures.TRAFFIC.index(key)]
            metric.add_sample(whole, {**_PROTOCOL, **_TYPES[queue_type]}, value)
        yield metric
    vhosts = broker.vhosts.values()
    routed = broker.past.routed + sum(vhost.traffic.routed for vhost in vhosts)
    text = "Total number of messages routed to queues or streams"
    yield single("rabbitmq_global_messages_routed_total", "counter", text, routed, _PROTOCOL)
    yield from _death_metrics(broker)


def _death_metrics(broker: Broker) -> Iterator[Metric]:
    deaths = Counter(broker.past.past_deaths)
    for vhost in broker.vhosts.values():
        deaths.update(vhost.dead_letters.deaths)
    for reason, why in _DEATHS.items():
        name = f"rabbitmq_global_messages_dead_lettered_{reason.value}"
        metric = Metric(name, f"Total number of messages dead-lettered due to {why}", "counter")
        for queue_type, labels in _TYPES.items():
            if reason is DeathReason.DELIVERY_LIMIT and queue_type is not QueueType.QUORUM:
                continue  # no other queue counts deliveries
            for strategy, has_exchange in (("at_most_once", True), ("disabled", False)):
                value = deaths[reason, queue_type, has_exchange]
                metric.add_sample(
                    f"{name}_total", {**labels, "dead_letter_strategy": strategy}, value
                )
        yield metric
    text = "Tables of x-death left out, as the header would not have fit a frame"
    dropped = tables_dropped(broker.past, broker.vhosts.values())
    yield single("mqkit_dead_letter_tables_dropped_total", "counter", text, dropped)
