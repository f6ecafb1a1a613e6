"""An app's metrics for Prometheus (``pip install 'mqkit[metrics]'``): :class:`Collector` for a
registry of the program's own, :func:`text` for an endpoint of its own.

Nothing is counted twice: a scrape reads :attr:`mqkit.App.metrics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Protocol

from mqkit.consumer.stats import ENDS
from mqkit.extras import advice
from mqkit.metrics.histogram import HistogramValues
from mqkit.metrics.values import ConnectionMetrics, ConsumerMetrics, ExchangeMetrics, Metrics
from mqkit.outcome import RejectReason
from mqkit.supervision.states import State

try:
    from prometheus_client import CollectorRegistry, Metric, generate_latest
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )
except ModuleNotFoundError as missing:
    told = advice(missing, "metrics")
    raise (missing if told is None else ModuleNotFoundError(told, name=missing.name)) from None

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""That of :func:`text`."""

DEFAULT_EXCHANGE = "amq.default"
"""The label of the default exchange, as RabbitMQ has it: an empty label is none to Prometheus."""

CONSUMER_COUNTERS = {
    "unconfirmed_republishes": "Retries and parkings that the broker did not confirm",
    "failed_too_late": "Handlers that raised when their message was settled already",
    "misfits": "Bodies that did not fit the type of their handler",
    "late_questions": "Calls that came after the deadline of their caller",
    "failed_questions": "Calls that were answered with the error of their handler",
    "lost_answers": "Answers to calls that the broker did not confirm",
    "unavailable": "Handlers that raised Unavailable, probes included",
    "circuits_opened": "Times that a consumer stopped for an Unavailable",
    "circuits_closed": "Times that such a consumer went on again",
    "timeouts": "Handlers that took longer than their timeout",
    "held": "Retries that wait in this process for the order of their key",
    "keys_given_up": "Keys whose messages were parked or given back",
    "cancelled_by_broker": "Consumers that the broker cancelled",
}
"""Counters of a consumer that are families of their own, and their help."""

APP_COUNTERS = {
    "drift_looks": "Looks for drift that saw everything",
    "drifts": "Things that were found not to be as declared",
    "drifts_mended": "Those that were declared or bound again",
}

_HANDLER = ("queue", "handler")


class App(Protocol):
    """The app, as far as its metrics go."""

    @property
    def metrics(self) -> Metrics: ...


class Collector:
    """Give it to ``registry.register``; one app a registry, for another one has the same names."""

    def __init__(self, app: App) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """The families of now."""
        metrics = self._app.metrics
        yield from _connection(metrics.connection)
        yield from _consumers(metrics.consumers)
        for name, help_text in APP_COUNTERS.items():
            yield CounterMetricFamily(f"mqkit_{name}", help_text, value=getattr(metrics.app, name))
        if metrics.is_measured:
            yield from _timings(metrics.consumers)
            yield from _exchanges(metrics.exchanges)


def text(app: App) -> str:
    """The metrics of ``app`` in Prometheus' text format (:data:`CONTENT_TYPE`). On any thread."""
    registry = CollectorRegistry()
    registry.register(Collector(app))
    return generate_latest(registry).decode()


def _connection(connection: ConnectionMetrics) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "mqkit_connection_state", "1 for the state of the connections", labels=("state",)
    )
    for state in State:
        states.add_metric((state,), connection.state is state)
    yield states
    yield CounterMetricFamily(
        "mqkit_connects", "Times that both connections were made", value=connection.connects
    )
    yield CounterMetricFamily(
        "mqkit_connection_losses", "Times that a connection was lost", value=connection.losses
    )
    yield CounterMetricFamily(
        "mqkit_publishing_blocked_seconds",
        "Time in which the broker took no publishes",
        value=connection.blocked_s,
    )


def _consumers(consumers: Iterable[ConsumerMetrics]) -> Iterator[Metric]:
    deliveries = CounterMetricFamily("mqkit_deliveries", "Deliveries received", labels=_HANDLER)
    settled = CounterMetricFamily(
        "mqkit_settled", "Deliveries by their end", labels=(*_HANDLER, "settlement")
    )
    gauges = {
        "consumers": GaugeMetricFamily(
            "mqkit_consumers", "Consumers that the app has", labels=_HANDLER
        ),
        "consuming": GaugeMetricFamily(
            "mqkit_consumers_consuming", "Those that the broker sends messages", labels=_HANDLER
        ),
        "in_flight": GaugeMetricFamily(
            "mqkit_messages_in_flight", "Messages that are not settled", labels=_HANDLER
        ),
        "prefetch": GaugeMetricFamily(
            "mqkit_prefetch_messages", "Messages that may be unsettled", labels=_HANDLER
        ),
    }
    others = {
        name: CounterMetricFamily(f"mqkit_consumer_{name}", help_text, labels=_HANDLER)
        for name, help_text in CONSUMER_COUNTERS.items()
    }
    for each in consumers:
        label = (each.queue, each.handler)
        deliveries.add_metric(label, each.stats.delivered)
        for end in ENDS:
            settled.add_metric((*label, end), getattr(each.stats, end))
        for name, gauge in gauges.items():
            gauge.add_metric(label, getattr(each, name))
        for name, counter in others.items():
            counter.add_metric(label, getattr(each.stats, name))
    yield from (deliveries, settled, *gauges.values(), *others.values())


def _timings(consumers: Iterable[ConsumerMetrics]) -> Iterator[Metric]:
    durations = HistogramMetricFamily(
        "mqkit_handler_duration_seconds", "Time of a call of the handler", labels=_HANDLER
    )
    ages = HistogramMetricFamily(
        "mqkit_message_age_seconds",
        "Time from the timestamp of a message to the beginning of its handler",
        labels=_HANDLER,
    )
    attempts = CounterMetricFamily(
        "mqkit_attempts", "Messages by the number of the attempt", labels=(*_HANDLER, "attempt")
    )
    failures = CounterMetricFamily(
        "mqkit_handler_failures", "Calls of the handler that raised", labels=_HANDLER
    )
    for each in consumers:
        if (timings := each.timings) is None:
            continue
        label = (each.queue, each.handler)
        _add(durations, label, timings.durations)
        _add(ages, label, timings.ages)
        last = len(timings.attempts)
        for number, count in enumerate(timings.attempts, 1):
            attempt = f"{number}+" if number == last else str(number)
            attempts.add_metric((*label, attempt), count)
        failures.add_metric(label, timings.failed)
    yield from (durations, ages, attempts, failures)


def _exchanges(exchanges: Iterable[ExchangeMetrics]) -> Iterator[Metric]:
    publishes = CounterMetricFamily(
        "mqkit_publishes", "Publishes by their outcome", labels=("exchange", "outcome", "reason")
    )
    latency = HistogramMetricFamily(
        "mqkit_confirm_latency_seconds",
        "Time from the call of publish to the confirm",
        labels=("exchange",),
    )
    for each in exchanges:
        exchange = each.exchange or DEFAULT_EXCHANGE
        publishes.add_metric((exchange, "confirmed", ""), each.confirmed)
        for reason, count in _in_order(each.rejected):
            publishes.add_metric((exchange, "rejected", reason), count)
        publishes.add_metric((exchange, "unknown", ""), each.unknown)
        _add(latency, (exchange,), each.confirm_latency)
    yield from (publishes, latency)


def _in_order(rejected: Mapping[RejectReason, int]) -> Iterator[tuple[RejectReason, int]]:
    for reason in RejectReason:
        yield reason, rejected.get(reason, 0)


def _add(family: HistogramMetricFamily, label: tuple[str, ...], values: HistogramValues) -> None:
    bounds = [*(str(bound_s) for bound_s in values.bounds_s), "+Inf"]
    cumulative = accumulate(values.counts)
    family.add_metric(label, list(zip(bounds, cumulative, strict=True)), values.sum_s)
