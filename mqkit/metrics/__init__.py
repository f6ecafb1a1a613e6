"""The counts and measurements of an app, as plain values; :mod:`~mqkit.metrics.meters` first."""

from mqkit.metrics.histogram import HistogramValues
from mqkit.metrics.meters import Meters
from mqkit.metrics.values import (
    ConnectionMetrics,
    ConsumerMetrics,
    ExchangeMetrics,
    HandlerTimings,
    Metrics,
)

__all__ = [
    "ConnectionMetrics",
    "ConsumerMetrics",
    "ExchangeMetrics",
    "HandlerTimings",
    "HistogramValues",
    "Meters",
    "Metrics",
]
