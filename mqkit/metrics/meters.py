"""All that an app counts and measures: its consumers by queue and handler, its exchanges, its
connections.

Each consumer has counters of its own, and sums are made when they are asked for: so telling queues
apart costs a message nothing. What is measured, times above all, costs something, and is only done
where the app is told to.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.consumer.batches.batch_handler import AnyBatchHandler
from mqkit.consumer.consumer_states import State
from mqkit.consumer.handler import AnyHandler
from mqkit.consumer.queue_handle import AnyConsumer
from mqkit.consumer.stats import Stats, sum_of
from mqkit.metrics.app_stats import AppStats
from mqkit.metrics.bounded import OTHER, BoundedCells
from mqkit.metrics.connection_meter import ConnectionMeter
from mqkit.metrics.exchange_meter import MeasuredPublisher, exchange_cells
from mqkit.metrics.handler_meter import HandlerMeter, MeasuredBatchHandler, MeasuredHandler
from mqkit.metrics.values import ConsumerMetrics, HandlerTimings, Metrics
from mqkit.middleware.surrounded_publisher import Publishes

TEMPORARY = "temporary"
"""The label of queues whose names the broker gives: each would be another series."""


class _Consumers:
    """The consumers of one handler on one queue: those that run, and the counts of earlier ones."""

    def __init__(self) -> None:
        self.meter = HandlerMeter()
        # One attribute, so that no other thread ever finds a consumer in both, or in neither.
        self._parts: tuple[Stats, tuple[AnyConsumer, ...]] = (Stats(), ())

    @property
    def running(self) -> tuple[AnyConsumer, ...]:
        return self._parts[1]

    @property
    def stats(self) -> tuple[Stats, ...]:
        """The counters to be added up."""
        earlier, running = self._parts
        return (earlier, *(consumer.stats for consumer in running))

    def begins(self, consumer: AnyConsumer) -> None:
        earlier, running = self._parts
        self._parts = earlier, (*running, consumer)

    def ended(self, consumer: AnyConsumer) -> None:
        earlier, running = self._parts
        if consumer in running:
            rest = tuple(each for each in running if each is not consumer)
            self._parts = sum_of((earlier, consumer.stats)), rest


class Meters:
    """The meters of one app, for as long as it is there. They are written on the event loop, and
    may be read on any thread."""

    def __init__(self, *, measures: bool) -> None:
        self.measures = measures
        """True if times and exchanges are measured, and not only counts kept."""
        self.app = Stats()
        """The counters that belong to no consumer."""
        self.stats: Stats = AppStats(self._all_stats)
        self.connection = ConnectionMeter()
        self._exchanges = exchange_cells()
        self._consumers: BoundedCells[tuple[str, str], _Consumers] = BoundedCells(
            _Consumers, (OTHER, OTHER)
        )

    def around_publisher(self, publisher: Publishes) -> Publishes:
        """``publisher``, measured; itself where nothing is."""
        return MeasuredPublisher(publisher, self._exchanges) if self.measures else publisher

    def begins(self, consumer: AnyConsumer, queue: str, *, is_temporary: bool) -> None:
        """``consumer``, of ``queue``, is made, and is going to run."""
        cell = self._consumers[TEMPORARY if is_temporary else queue, consumer.handler_name]
        if self.measures:
            consumer.measure(_Measure(queue, cell.meter))
        cell.begins(consumer)

    def ended(self, consumer: AnyConsumer) -> None:
        """``consumer`` does not run any more. Idempotent."""
        for cell in self._consumers.values():
            cell.ended(consumer)

    @property
    def running(self) -> tuple[AnyConsumer, ...]:
        """All consumers that the app has now."""
        cells = tuple(self._consumers.values())
        return tuple(consumer for cell in cells for consumer in cell.running)

    @property
    def values(self) -> Metrics:
        """All of it, as it is now."""
        consumers = [_values(*item, self.measures) for item in tuple(self._consumers.items())]
        exchanges = [cell.values(name) for name, cell in tuple(self._exchanges.items())]
        return Metrics(
            self.measures,
            tuple(consumers),
            tuple(exchanges),
            self.connection.values,
            sum_of(self._all_stats()),
        )

    def _all_stats(self) -> Iterator[Stats]:
        yield self.app
        for cell in tuple(self._consumers.values()):
            yield from cell.stats


class _Measure:
    """Measures the handler of one consumer (:mod:`mqkit.consumer.observing.measure`)."""

    def __init__(self, queue: str, meter: HandlerMeter) -> None:
        self._queue = queue
        self._meter = meter

    def handler(self, handler: AnyHandler) -> AnyHandler:
        return MeasuredHandler(handler, self._queue, self._meter)

    def batch_handler(self, handler: AnyBatchHandler) -> AnyBatchHandler:
        return MeasuredBatchHandler(handler, self._queue, self._meter)


def _values(label: tuple[str, str], cell: _Consumers, is_measured: bool) -> ConsumerMetrics:
    running, meter = cell.running, cell.meter
    timings = HandlerTimings(
        meter.durations.values, meter.ages.values, tuple(meter.attempts), meter.failed
    )
    return ConsumerMetrics(
        *label,
        sum_of(cell.stats),
        consumers=len(running),
        consuming=sum(consumer.state is State.CONSUMING for consumer in running),
        # Of consumers that have ended, the broker has taken back what they had not settled.
        in_flight=sum(consumer.stats.unsettled for consumer in running),
        prefetch=sum(consumer.prefetch for consumer in running),
        timings=timings if is_measured else None,
    )
