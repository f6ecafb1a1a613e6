"""``app.metrics``: what an app has counted and measured, as plain values of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mqkit.consumer.stats import Stats
from mqkit.metrics.histogram import HistogramValues
from mqkit.outcome import RejectReason
from mqkit.supervision.states import State


@dataclass(frozen=True, slots=True)
class HandlerTimings:
    """The measurements of one handler. ``attempts`` has the messages at the first attempt, at the
    second, and so on; its last number includes all later ones."""

    durations: HistogramValues
    """Calls of the handler; a batch is one."""
    ages: HistogramValues
    """Messages that have the ``timestamp`` property, which is in whole seconds: the time from then
    to the beginning of their handler."""
    attempts: tuple[int, ...]
    failed: int
    """Calls that raised anything but a signal (``Park``, ``Drop``, ``RetryLater``,
    ``Unavailable``)."""


@dataclass(frozen=True, slots=True)
class ConsumerMetrics:
    """All consumers that have one handler on one queue.

    ``queue`` is "temporary" for all queues by :class:`~mqkit.Temporary`, and "other", as is
    ``handler``, where there are too many to tell apart.
    """

    queue: str
    handler: str
    stats: Stats
    """Their counters, in a copy."""
    consumers: int
    """Those that the app has now."""
    consuming: int
    """Those of them that the broker sends messages."""
    in_flight: int
    """Messages that they have and have not settled."""
    prefetch: int
    """The messages that they may have so at most; 0 where nothing bounds them
    (``ack="none"``)."""
    timings: HandlerTimings | None
    """``None`` where the app does not measure."""


@dataclass(frozen=True, slots=True)
class ExchangeMetrics:
    """The outcomes of publishes to one exchange; ``exchange`` is "other" for those that are too
    many to tell apart, and "" for the default exchange."""

    exchange: str
    confirmed: int
    rejected: Mapping[RejectReason, int]
    unknown: int
    confirm_latency: HistogramValues
    """From the call to its confirm, waiting for a connection or a broker that blocks included. The
    messages of a batch have the time of the batch."""


@dataclass(frozen=True, slots=True)
class ConnectionMetrics:
    """The app's two connections, which come and go together."""

    state: State
    connects: int
    """Times that both were made; the first one is none of the reconnects."""
    losses: int
    """Times that one of them was lost."""
    blocked_s: float
    """Seconds in which the broker took no publishes, until now."""
    blocked_for_s: float
    """Those of them that belong to a block which goes on; 0 while there is none."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """All of it. ``is_measured`` is false where the app counts without measuring: then there are
    no timings and no exchanges."""

    is_measured: bool
    consumers: tuple[ConsumerMetrics, ...]
    exchanges: tuple[ExchangeMetrics, ...]
    connection: ConnectionMetrics
    app: Stats
    """Sums over all consumers, and the counters of drifts."""
