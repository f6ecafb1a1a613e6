"""``/metrics`` for Prometheus, as RabbitMQ's plugin has it on a port of its own.

    /metrics             sums over all objects
    /metrics/per-object  a sample for each queue, channel and connection
    /metrics/detailed    the same for the families asked for: ?family=queue_metrics&vhost=v

Each node of a cluster tells its own: a queue of another one is in that one's. What it counts of
the cluster itself (``mqkit_cluster_``) is with the first two.

A scraper has no login. RabbitMQ's plugin therefore listens on a port of its own without one, and
so does ``--prometheus ADDRESS`` here. On the management port only this machine is answered, as
names of queues are nobody else's business; a request that a proxy has forwarded is not from here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from prometheus_client import Metric
from prometheus_client.exposition import generate_latest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reference_broker.core.base.peer import Peer
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.connection.connection import Connection
from reference_broker.core.connection.handshake import RABBITMQ_VERSION
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.access.vhosts import Placed, placed
from reference_broker.http.metrics import broker_metrics
from reference_broker.http.metrics.cluster_metrics import Families, cluster_metrics
from reference_broker.http.metrics.metric_families import (
    CHANNELS,
    CONNECTIONS,
    QUEUES,
    ObjectMetric,
)
from reference_broker.http.request.host import Host
from reference_broker.http.request.portions import stepped
from reference_broker.http.request.turn_share import next_turn
from reference_broker.http.rows.rendering import channel_name
from reference_broker.http.rows.totals import TOTALS_ENTRIES, Totals

CONTENT_TYPE = "text/plain; version=0.0.4"
SLICE_SAMPLES = 200
"""Samples of a portion, which are made before others have their turn: about 2 ms."""

SLICE_SUMMED = 50
"""Objects that are added to the sums of their kind in a portion: 20 metrics of a queue each."""

_PREFIX = "rabbitmq_"
_DETAILED = "rabbitmq_detailed_"
_CLUSTER = "rabbitmq_cluster_"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


class LoopbackMetrics:
    """Lets this machine's scrapers through to ``metrics``, and everything else to ``app``."""

    def __init__(self, app: ASGIApp, metrics: ASGIApp) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_metrics = scope["path"] == "/metrics" or scope["path"].startswith("/metrics/")
        app = self._metrics if is_metrics and _is_from_here(scope) else self._app
        await app(scope, receive, send)


def build_metrics_app(host: Host, of_cluster: Families | None = None) -> Starlette:
    """The metrics of ``host``'s broker, for everybody who can connect; with those ``of_cluster``,
    where it is a node of one."""
    metrics = Metrics(host, of_cluster)
    return Starlette(
        routes=[
            Route("/metrics", metrics.sums),
            Route("/metrics/per-object", metrics.per_object),
            Route("/metrics/detailed", metrics.detailed),
            Route("/metrics/{registry}", metrics.unknown),
        ],
        middleware=[Middleware(GZipMiddleware, compresslevel=1)],
    )


class _Kind(NamedTuple):
    """One kind of object: its metrics, and how a sample names it."""

    metrics: Sequence[ObjectMetric[Any]]
    subjects: Sequence[Any]
    labels: Callable[[Any], dict[str, str]]


class Metrics:
    """The answers to scrapers. Objects are listed at once and read in slices."""

    def __init__(self, host: Host, of_cluster: Families | None) -> None:
        self._host = host
        self._of_cluster = of_cluster

    async def sums(self, request: Request) -> Response:
        broker, node = self._host.broker, self._host.node()
        totals = await self._totals(request)
        return _text(
            request,
            chain(self._whole(_PREFIX), broker_metrics.alarm_metrics(broker)),
            cluster_metrics(self._of_cluster),
            *(_summed(kind) for kind in self._kinds(None)),
            chain(
                broker_metrics.object_totals(broker, totals),
                broker_metrics.global_metrics(broker, totals),
                broker_metrics.identity_metrics(broker, node, RABBITMQ_VERSION),
            ),
        )

    async def per_object(self, request: Request) -> Response:
        broker, node = self._host.broker, self._host.node()
        totals = await self._totals(request)
        return _text(
            request,
            self._whole(_PREFIX),
            cluster_metrics(self._of_cluster),
            *(_each(kind, _PREFIX, None) for kind in self._kinds(None)),
            chain(
                broker_metrics.object_totals(broker, totals),
                broker_metrics.global_metrics(broker, totals),
                broker_metrics.identity_metrics(broker, node, RABBITMQ_VERSION),
            ),
        )

    async def detailed(self, request: Request) -> Response:
        query = request.query_params
        families, vhosts = query.getlist("family"), query.getlist("vhost") or None
        return _text(
            request,
            *(_each(kind, _DETAILED, families) for kind in self._kinds(vhosts)),
            self._families(families, vhosts),
            broker_metrics.identity_metrics(self._host.broker, self._host.node(), RABBITMQ_VERSION),
        )

    async def unknown(self, request: Request) -> Response:
        return PlainTextResponse("Unknown Registry", 404)

    async def _totals(self, request: Request) -> Totals:
        totals = Totals(self._host.broker)
        await stepped(request, totals.read(), TOTALS_ENTRIES)
        return totals

    def _whole(self, prefix: str) -> Iterator[Metric]:
        broker, node = self._host.broker, self._host.node()
        yield from broker_metrics.churn_metrics(broker, prefix)
        yield from broker_metrics.login_metrics(broker, prefix)
        yield from broker_metrics.node_coarse_metrics(broker, node, prefix)
        yield from broker_metrics.node_metrics(broker, node, self._host.now()[1], prefix)
        yield from broker_metrics.persister_metrics(node, prefix)
        yield from broker_metrics.damage_metrics(node)
        yield from broker_metrics.turn_metrics(node)

    def _families(self, families: Sequence[str], vhosts: list[str] | None) -> Iterator[Metric]:
        """Metrics of the broker and of virtual hosts: those that belong to no queue, channel or
        connection."""
        broker, node = self._host.broker, self._host.node()
        shown = [each for each in broker.vhosts.values() if vhosts is None or each.name in vhosts]
        if "connection_churn_metrics" in families:
            yield from broker_metrics.churn_metrics(broker, _DETAILED)
        if "node_coarse_metrics" in families:
            yield from broker_metrics.node_coarse_metrics(broker, node, _DETAILED)
        if "node_metrics" in families:
            yield from broker_metrics.node_metrics(broker, node, self._host.now()[1], _DETAILED)
        if "node_persister_metrics" in families:
            yield from broker_metrics.persister_metrics(node, _DETAILED)
        if "vhost_status" in families:
            samples = (({"vhost": vhost.name}, 1) for vhost in shown)
            text = "Whether a given vhost is running"
            yield from _gauges(f"{_CLUSTER}vhost_status", text, samples)
        if "exchange_names" in families:
            text = "Enumerates exchanges without any additional info."
            samples = ((_exchange_labels(each), 1) for each in placed(shown, _exchanges))
            yield from _gauges(f"{_CLUSTER}exchange_name", text, samples)
        if "exchange_bindings" in families:
            text = "Number of bindings for an exchange."
            samples = (
                (_exchange_labels(each), len(each.item.bindings))
                for each in placed(shown, _exchanges)
            )
            yield from _gauges(f"{_CLUSTER}exchange_bindings", text, samples)

    def _kinds(self, vhosts: list[str] | None) -> list[_Kind]:
        broker = self._host.broker
        connections = [
            each
            for each in broker.connections.values()
            if each.vhost is not None and (vhosts is None or each.vhost.name in vhosts)
        ]
        channels = [
            channel
            for each in connections
            for channel in each.channels.values()
            if channel.state is not ChannelState.CLOSED
        ]
        queues = [
            queue
            for vhost in broker.vhosts.values()
            if vhosts is None or vhost.name in vhosts
            for queue in vhost.queues.values()
            if not queue.is_elsewhere
        ]
        return [
            _Kind(QUEUES, queues, _queue_labels),
            _Kind(CHANNELS, channels, _channel_labels),
            _Kind(CONNECTIONS, connections, _connection_labels),
        ]


def _queue_labels(queue: Queue) -> dict[str, str]:
    return {"vhost": queue.env.vhost_name, "queue": queue.name}


def _channel_labels(channel: Channel) -> dict[str, str]:
    return {"channel": channel_name(channel)}


def _connection_labels(connection: Connection) -> dict[str, str]:
    """Labels of a connection. RabbitMQ has the process here, under the same label as a
    channel's."""
    return {"channel": str(connection.peer)}


def _exchanges(vhost: VHost) -> list[Exchange]:
    return list(vhost.exchanges.values())


def _exchange_labels(each: Placed[Exchange]) -> dict[str, str]:
    return {"vhost": each.vhost.name, "exchange": each.item.name, "type": each.item.type}


def _gauges(
    name: str, text: str, samples: Iterator[tuple[dict[str, str], float]]
) -> Iterator[Metric]:
    """One metric with a sample for each object, in several pieces where there are many."""
    some = list(islice(samples, SLICE_SAMPLES))
    while True:
        metric = Metric(name, text, "gauge")
        for labels, value in some:
            metric.add_sample(name, labels, value)
        yield metric
        some = list(islice(samples, SLICE_SAMPLES))
        if not some:
            return


def _summed(kind: _Kind) -> Iterator[Metric | None]:
    """The sums of one kind of object, with ``None`` between slices: the loop may have its turn."""
    sums = [0.0] * len(kind.metrics)
    for number, subject in enumerate(kind.subjects):
        for place, each in enumerate(kind.metrics):
            if each.summed:
                sums[place] += each.read(subject)
        if number % SLICE_SUMMED == SLICE_SUMMED - 1:
            yield None
    for (metric, _, _, is_summed), total in zip(kind.metrics, sums, strict=True):
        if is_summed:
            name, kind_of, text = metric
            yield broker_metrics.single(_PREFIX + name, kind_of, text, total)


def _each(kind: _Kind, prefix: str, families: Sequence[str] | None) -> Iterator[Metric | None]:
    """A sample for each object; a metric comes in several pieces where there are many."""
    for (short_name, kind_of, text), family, read, _ in kind.metrics:
        names = (family, "queue_consumer_count" if short_name == "queue_consumers" else family)
        if families is not None and not any(name in families for name in names):
            continue
        name = prefix + short_name
        for start in range(0, max(1, len(kind.subjects)), SLICE_SAMPLES):
            piece = Metric(name.removesuffix("_total"), text, kind_of)
            for subject in kind.subjects[start : start + SLICE_SAMPLES]:
                piece.add_sample(name, kind.labels(subject), read(subject))
            yield piece


def _text(request: Request, *groups: Iterable[Metric | None]) -> Response:
    pieces = _pieces(request, chain(*groups))
    return StreamingResponse(pieces, headers={"content-type": CONTENT_TYPE})


async def _pieces(request: Request, metrics: Iterable[Metric | None]) -> AsyncIterator[bytes]:
    """The metrics in the text format. The pieces of one metric have its head in common."""
    last = ""
    size = 0
    for metric in metrics:
        if metric is not None:
            text = generate_latest(_One(metric))
            yield _without_head(text) if metric.name == last else text
            last = metric.name
            size += len(metric.samples)
        if metric is None or size >= SLICE_SAMPLES:
            size = 0
            await next_turn(request)


class _One:
    """A registry of one metric, for :func:`generate_latest`."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> list[Metric]:
        return [self._metric]


def _without_head(text: bytes) -> bytes:
    return text.split(b"\n", 2)[2]


def _is_from_here(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    host, port = scope.get("client") or ("", 0)
    return Peer(host, port, "", 0).is_loopback and not any(name in headers for name in _FORWARDED)
