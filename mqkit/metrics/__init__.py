"""The counts and measurements of an app, as plain values; :mod:`~mqkit.metrics.meters` first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.metrics.histogram import HistogramValues
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
    "Metrics",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.metrics.histogram": ("HistogramValues",),
        "mqkit.metrics.values": (
            "ConnectionMetrics",
            "ConsumerMetrics",
            "ExchangeMetrics",
            "HandlerTimings",
            "Metrics",
        ),
    },
)
