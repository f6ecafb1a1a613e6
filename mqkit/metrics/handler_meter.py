"""A handler's meter: how long it takes, how old its messages are, at which attempt they come; and
the handlers that are measured by it.

The time of a call is that of all that is around the handler, middleware and inbox included.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, time
from typing import Any

from mqkit.consumer.batches.batch_handler import AnyBatchHandler
from mqkit.consumer.handler import AnyHandler
from mqkit.message import Delivery
from mqkit.metrics.histogram import AGE_BUCKETS_S, Histogram
from mqkit.retry.headers import ATTEMPT, failures_of
from mqkit.retry.signals import Signal

ATTEMPTS_MAX = 10
"""Attempts told apart: those from here on are counted together. Most policies have fewer."""


class HandlerMeter:
    """The cells of one handler of one queue, over all consumers that have it."""

    __slots__ = ("_now_s", "ages", "attempts", "durations", "failed")

    def __init__(self, now_s: Callable[[], float] = time) -> None:
        self.durations = Histogram()
        self.ages = Histogram(AGE_BUCKETS_S)
        self.attempts = [0] * ATTEMPTS_MAX
        """Messages by their attempt; the last cell has those of later attempts, too."""
        self.failed = 0
        """Calls that raised what is no signal of mqkit's."""
        self._now_s = now_s

    def begins(self, delivery: Delivery, queue: str) -> None:
        """A handler is about to begin with ``delivery``, which came from ``queue``."""
        properties = delivery.properties
        if ATTEMPT in properties.headers:
            failures = failures_of(properties.headers, queue)
            self.attempts[min(failures, ATTEMPTS_MAX - 1)] += 1
        else:
            self.attempts[0] += 1
        if properties.timestamp is not None:
            # Clocks of two machines differ: a message from the future is a new one.
            self.ages.observe(max(0.0, self._now_s() - properties.timestamp.timestamp()))


class _Measured:
    """Takes the place of ``handler``, and measures its calls."""

    def __init__(self, handler: AnyHandler | AnyBatchHandler, meter: HandlerMeter) -> None:
        self._handler = handler
        self._meter = meter
        self.name = handler.name

    @property
    def timeout_s(self) -> float | None:
        return self._handler.timeout_s

    async def __call__(self, *arguments: Any) -> object:
        begun_s = perf_counter()
        try:
            return await self._handler(*arguments)
        except Signal:
            raise
        except Exception:
            self._meter.failed += 1
            raise
        finally:
            self._meter.durations.observe(perf_counter() - begun_s)


class MeasuredHandler(_Measured):
    """A handler of single messages of ``queue``, measured."""

    def __init__(self, handler: AnyHandler, queue: str, meter: HandlerMeter) -> None:
        super().__init__(handler, meter)
        self._arguments = handler.arguments
        self._queue = queue
        self.takes_delivery = handler.takes_delivery

    def arguments(self, delivery: Delivery) -> tuple[Any, ...]:
        self._meter.begins(delivery, self._queue)
        return self._arguments(delivery)


class MeasuredBatchHandler(_Measured):
    """A handler of batches of ``queue``, measured: a call is one duration, and its messages are as
    many ages and attempts."""

    def __init__(self, handler: AnyBatchHandler, queue: str, meter: HandlerMeter) -> None:
        super().__init__(handler, meter)
        self._decode = handler.decode
        self._queue = queue
        self.takes_deliveries = handler.takes_deliveries

    def decode(self, delivery: Delivery) -> Any:
        self._meter.begins(delivery, self._queue)
        return self._decode(delivery)
