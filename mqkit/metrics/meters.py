"""All that an app counts and measures: its consumers by queue and handler, its exchanges, its
connections.

Each consumer has counters of its own, and sums are made when they are asked for: so telling queues
apart costs a message nothing. What is measured, times above all, costs something, and is only done
where the app is told to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from mqkit.consumer.queue_handle import AnyConsumer
from mqkit.consumer.stats import Stats, sum_of
from mqkit.metrics.app_stats import AppStats
from mqkit.metrics.bounded import OTHER, BoundedCells
from mqkit.metrics.connection_meter import ConnectionMeter
from mqkit.middleware.surrounded_publisher import Publishes

if TYPE_CHECKING:
    from mqkit.metrics.exchange_meter import TellsOutcomes
    from mqkit.metrics.measuring import Measuring
    from mqkit.metrics.values import Metrics

TEMPORARY = "temporary"
"""The label of queues whose names the broker gives: each would be another series."""

Label: TypeAlias = tuple[str, str]
"""A queue and a handler."""


class ConsumerCell:
    """The consumers of one handler on one queue: those that run, and the counts of earlier ones."""

    def __init__(self) -> None:
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
        self.measuring: Measuring | None = None
        if measures:
            from mqkit.metrics.measuring import Measuring  # who only counts does not load it

            self.measuring = Measuring()
        self.app = Stats()
        """The counters that belong to no consumer."""
        self.stats: Stats = AppStats(self._all_stats)
        self.connection = ConnectionMeter()
        self._consumers: BoundedCells[Label, ConsumerCell] = BoundedCells(
            ConsumerCell, (OTHER, OTHER)
        )

    def around_publisher(self, publisher: TellsOutcomes) -> Publishes:
        """``publisher``, measured; itself where nothing is."""
        return publisher if self.measuring is None else self.measuring.around_publisher(publisher)

    def begins(self, consumer: AnyConsumer, queue: str, *, is_temporary: bool) -> None:
        """``consumer``, of ``queue``, is made, and is going to run."""
        label = TEMPORARY if is_temporary else queue, consumer.handler_name
        if self.measuring is not None:
            self.measuring.measure(consumer, queue, label)
        self._consumers[label].begins(consumer)

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
    def by_label(self) -> Mapping[Label, ConsumerCell]:
        """The consumers of each handler on each queue."""
        return dict(self._consumers)

    @property
    def values(self) -> Metrics:
        """All of it, as it is now."""
        from mqkit.metrics.snapshot import snapshot  # who does not ask does not load it

        return snapshot(self)

    def _all_stats(self) -> Iterator[Stats]:
        yield self.app
        for cell in tuple(self._consumers.values()):
            yield from cell.stats
