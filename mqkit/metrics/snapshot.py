"""A snapshot of an app's meters, as plain values."""

from __future__ import annotations

from mqkit.consumer.consumer_states import State
from mqkit.consumer.stats import sum_of
from mqkit.metrics.meters import ConsumerCell, Label, Meters
from mqkit.metrics.values import ConsumerMetrics, Metrics


def snapshot(meters: Meters) -> Metrics:
    """All that ``meters`` have, as it is now. On any thread."""
    measuring = meters.measuring
    return Metrics(
        measuring is not None,
        tuple(_consumers(meters, *item) for item in meters.by_label.items()),
        () if measuring is None else measuring.exchanges,
        meters.connection.values,
        sum_of((meters.stats,)),
    )


def _consumers(meters: Meters, label: Label, cell: ConsumerCell) -> ConsumerMetrics:
    running, measuring = cell.running, meters.measuring
    return ConsumerMetrics(
        *label,
        sum_of(cell.stats),
        consumers=len(running),
        consuming=sum(consumer.state is State.CONSUMING for consumer in running),
        # Of consumers that have ended, the broker has taken back what they had not settled.
        in_flight=sum(consumer.stats.unsettled for consumer in running),
        prefetch=sum(consumer.prefetch for consumer in running),
        timings=None if measuring is None else measuring.timings(label),
    )
