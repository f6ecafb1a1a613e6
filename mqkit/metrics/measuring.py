"""All that an app measures, beside what it counts: handlers, and publishes by exchange."""

from __future__ import annotations

from mqkit.consumer.batches.batch_handler import AnyBatchHandler
from mqkit.consumer.handler import AnyHandler
from mqkit.consumer.queue_handle import AnyConsumer
from mqkit.metrics.bounded import OTHER, BoundedCells
from mqkit.metrics.exchange_meter import MeasuredPublisher, TellsOutcomes, exchange_cells
from mqkit.metrics.handler_meter import HandlerMeter, MeasuredBatchHandler, MeasuredHandler
from mqkit.metrics.values import ExchangeMetrics, HandlerTimings
from mqkit.middleware.surrounded_publisher import Publishes


class Measuring:
    """The cells of one app. Written on the event loop, read on any thread."""

    def __init__(self) -> None:
        self._exchanges = exchange_cells()
        self._handlers: BoundedCells[tuple[str, str], HandlerMeter] = BoundedCells(
            HandlerMeter, (OTHER, OTHER)
        )

    def around_publisher(self, publisher: TellsOutcomes) -> Publishes:
        """``publisher``, measured."""
        return MeasuredPublisher(publisher, self._exchanges)

    def measure(self, consumer: AnyConsumer, queue: str, label: tuple[str, str]) -> None:
        """Have the handler of ``consumer``, of ``queue``, measured in the cells of ``label``."""
        consumer.measure(_Measure(queue, self._handlers[label]))

    def timings(self, label: tuple[str, str]) -> HandlerTimings | None:
        """The measurements of one handler on one queue; ``None`` where it has none yet."""
        meter = self._handlers.get(label)
        if meter is None:
            return None
        return HandlerTimings(
            meter.durations.values, meter.ages.values, tuple(meter.attempts), meter.failed
        )

    @property
    def exchanges(self) -> tuple[ExchangeMetrics, ...]:
        """The outcomes of each exchange."""
        return tuple(cell.values(name) for name, cell in dict(self._exchanges).items())


class _Measure:
    """Measures the handler of one consumer (:mod:`mqkit.consumer.observing.measure`)."""

    def __init__(self, queue: str, meter: HandlerMeter) -> None:
        self._queue = queue
        self._meter = meter

    def handler(self, handler: AnyHandler) -> AnyHandler:
        return MeasuredHandler(handler, self._queue, self._meter)

    def batch_handler(self, handler: AnyBatchHandler) -> AnyBatchHandler:
        return MeasuredBatchHandler(handler, self._queue, self._meter)
