"""Metrics in Prometheus' text format: what each value becomes, checked by Prometheus' own tool."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from mqkit.consumer.stats import COUNTERS, ENDS, Stats
from mqkit.metrics import (
    ConnectionMetrics,
    ConsumerMetrics,
    ExchangeMetrics,
    HandlerTimings,
    HistogramValues,
    Metrics,
)
from mqkit.metrics.prometheus import APP_COUNTERS, CONSUMER_COUNTERS, Collector, text
from mqkit.outcome import RejectReason
from mqkit.supervision.states import State

LABELS = (
    *("state", "queue", "handler", "settlement", "attempt", "exchange", "outcome", "reason", "le"),
)
TIMES = HistogramValues((0.1, 1.0), (3, 2, 1), 7.5)
CONSUMER = ConsumerMetrics(
    queue="orders",
    handler="Desk.pay",
    stats=Stats(delivered=9, acked=5, parked=1, misfits=1),
    consumers=2,
    consuming=1,
    in_flight=3,
    prefetch=20,
    timings=HandlerTimings(TIMES, TIMES, (4, 2, 1), 2),
)
EXCHANGE = ExchangeMetrics("", 6, {RejectReason.NACKED: 1}, 2, TIMES)
METRICS = Metrics(
    is_measured=True,
    consumers=(CONSUMER, replace(CONSUMER, queue='odd "name"\n\\')),
    exchanges=(EXCHANGE, replace(EXCHANGE, exchange="events")),
    connection=ConnectionMetrics(State.READY, 3, 2, 1.5, 0.0),
    app=Stats(drifts=4),
)


def shown(metrics: Metrics) -> str:
    return text(SimpleNamespace(metrics=metrics))


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Values by the name and the labels' values, in the order of :data:`LABELS`."""
    return {
        (sample.name, *(sample.labels[name] for name in LABELS if name in sample.labels)): (
            sample.value
        )
        for family in text_string_to_metric_families(shown(metrics))
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("mqkit_deliveries_total", "orders", "Desk.pay"), 9),
        (("mqkit_settled_total", "orders", "Desk.pay", "acked"), 5),
        (("mqkit_settled_total", "orders", "Desk.pay", "requeued"), 0),
        (("mqkit_consumer_misfits_total", "orders", "Desk.pay"), 1),
        (("mqkit_consumers", "orders", "Desk.pay"), 2),
        (("mqkit_consumers_consuming", "orders", "Desk.pay"), 1),
        (("mqkit_messages_in_flight", "orders", "Desk.pay"), 3),
        (("mqkit_prefetch_messages", "orders", "Desk.pay"), 20),
        (("mqkit_handler_duration_seconds_bucket", "orders", "Desk.pay", "0.1"), 3),
        (("mqkit_handler_duration_seconds_bucket", "orders", "Desk.pay", "1.0"), 5),
        (("mqkit_handler_duration_seconds_bucket", "orders", "Desk.pay", "+Inf"), 6),
        (("mqkit_handler_duration_seconds_sum", "orders", "Desk.pay"), 7.5),
        (("mqkit_message_age_seconds_count", "orders", "Desk.pay"), 6),
        (("mqkit_attempts_total", "orders", "Desk.pay", "1"), 4),
        (("mqkit_attempts_total", "orders", "Desk.pay", "3+"), 1),
        (("mqkit_handler_failures_total", "orders", "Desk.pay"), 2),
        (("mqkit_publishes_total", "amq.default", "confirmed", ""), 6),
        (("mqkit_publishes_total", "amq.default", "rejected", "nacked"), 1),
        (("mqkit_publishes_total", "amq.default", "rejected", "unroutable"), 0),
        (("mqkit_publishes_total", "events", "unknown", ""), 2),
        (("mqkit_confirm_latency_seconds_count", "events"), 6),
        (("mqkit_connection_state", "ready"), 1),
        (("mqkit_connection_state", "blocked"), 0),
        (("mqkit_connects_total",), 3),
        (("mqkit_connection_losses_total",), 2),
        (("mqkit_publishing_blocked_seconds_total",), 1.5),
        (("mqkit_drifts_total",), 4),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_each_value_has_its_series(place: tuple[str, ...], value: float) -> None:
    assert samples(METRICS)[place] == value


def test_every_counter_of_the_stats_is_there() -> None:
    assert {"delivered", *ENDS, *CONSUMER_COUNTERS, *APP_COUNTERS} == set(COUNTERS)


def test_what_is_not_measured_is_not_shown_as_nothing() -> None:
    counted = replace(
        METRICS,
        is_measured=False,
        consumers=(replace(CONSUMER, timings=None),),
        exchanges=(),
    )
    names = {place[0] for place in samples(counted)}
    assert "mqkit_deliveries_total" in names
    assert not {name for name in names if re.search("seconds_|mqkit_publishes|attempts", name)} - {
        "mqkit_publishing_blocked_seconds_total"
    }


def test_it_registers_in_a_registry_of_the_programs_own() -> None:
    registry = CollectorRegistry()
    registry.register(Collector(SimpleNamespace(metrics=METRICS)))
    assert registry.get_sample_value("mqkit_connects_total") == 3


def test_prometheus_own_tool_has_nothing_to_say() -> None:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("no promtool here: apt-get install prometheus")
    checked = subprocess.run(
        [tool, "check", "metrics"],
        input=shown(METRICS),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_without_the_extra_one_line_names_it(without: Callable[..., dict[str, str]]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import mqkit.metrics.prometheus"],
        env=without("prometheus_client"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: prometheus_client is not installed; run: pip install 'mqkit[metrics]'"
    )
