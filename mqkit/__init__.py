"""Declare a topology once, publish without losing a message, consume without blocking on one.

    import mqkit

    app = mqkit.App(topology="topology.yaml")

    @app.consumer("delays", concurrency=8)
    async def note(delay: Delay) -> None: ...

    app.run()

The names are loaded when they are first used: the broker and Spark executors import
:mod:`mqkit.wire` or one adapter, and should pay for nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.app import App
    from mqkit.consumer import Batch, ManualDelivery, QueueHandle, Stats
    from mqkit.consumer.depth import QueueDepth
    from mqkit.drift import Drift
    from mqkit.errors import (
        BrokerError,
        CallRejected,
        ChannelError,
        Closed,
        ConfigurationError,
        ConnectionLost,
        ConnectionRefused,
        DeadlineExceeded,
        MqkitError,
        PoolExhausted,
        RemoteError,
        StaleDelivery,
        TopologyError,
        TransportError,
        Unanswered,
        Unreachable,
    )
    from mqkit.incoming import BodyMisfit
    from mqkit.message import Delivery, Message, Properties
    from mqkit.middleware import HandleMiddleware, HandleNext, PublishMiddleware, PublishNext
    from mqkit.observation.event import (
        CircuitChanged,
        ConnectionChanged,
        ConsumerChanged,
        Event,
        RefusedObject,
        TopologyDeclared,
    )
    from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
    from mqkit.publishing.message_options import MessageOptions
    from mqkit.publishing.target import Target
    from mqkit.resources import depends
    from mqkit.retry import Drop, Park, RetryLater, RetryPolicy, Unavailable
    from mqkit.settings import Settings
    from mqkit.timing.seconds import duration
    from mqkit.topology import Temporary, Topology

__all__ = [
    "App",
    "Batch",
    "BodyMisfit",
    "BrokerError",
    "CallRejected",
    "ChannelError",
    "CircuitChanged",
    "Closed",
    "ConfigurationError",
    "Confirmed",
    "ConnectionChanged",
    "ConnectionLost",
    "ConnectionRefused",
    "ConsumerChanged",
    "DeadlineExceeded",
    "Delivery",
    "Drift",
    "Drop",
    "Event",
    "HandleMiddleware",
    "HandleNext",
    "ManualDelivery",
    "Message",
    "MessageOptions",
    "MqkitError",
    "Outcome",
    "Park",
    "PoolExhausted",
    "Properties",
    "PublishMiddleware",
    "PublishNext",
    "QueueDepth",
    "QueueHandle",
    "RefusedObject",
    "RejectReason",
    "Rejected",
    "RemoteError",
    "RetryLater",
    "RetryPolicy",
    "Settings",
    "StaleDelivery",
    "Stats",
    "Target",
    "Temporary",
    "Topology",
    "TopologyDeclared",
    "TopologyError",
    "TransportError",
    "Unanswered",
    "Unavailable",
    "Unknown",
    "Unreachable",
    "depends",
    "duration",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.app": ("App",),
        "mqkit.consumer": ("Batch", "ManualDelivery", "QueueHandle", "Stats"),
        "mqkit.consumer.depth": ("QueueDepth",),
        "mqkit.drift": ("Drift",),
        "mqkit.errors": (
            "BrokerError",
            "CallRejected",
            "ChannelError",
            "Closed",
            "ConfigurationError",
            "ConnectionLost",
            "ConnectionRefused",
            "DeadlineExceeded",
            "MqkitError",
            "PoolExhausted",
            "RemoteError",
            "StaleDelivery",
            "TopologyError",
            "TransportError",
            "Unanswered",
            "Unreachable",
        ),
        "mqkit.incoming": ("BodyMisfit",),
        "mqkit.message": ("Delivery", "Message", "Properties"),
        "mqkit.middleware": (
            "HandleMiddleware",
            "HandleNext",
            "PublishMiddleware",
            "PublishNext",
        ),
        "mqkit.observation.event": (
            "CircuitChanged",
            "ConnectionChanged",
            "ConsumerChanged",
            "Event",
            "RefusedObject",
            "TopologyDeclared",
        ),
        "mqkit.outcome": ("Confirmed", "Outcome", "RejectReason", "Rejected", "Unknown"),
        "mqkit.publishing.message_options": ("MessageOptions",),
        "mqkit.publishing.target": ("Target",),
        "mqkit.resources": ("depends",),
        "mqkit.retry": ("Drop", "Park", "RetryLater", "RetryPolicy", "Unavailable"),
        "mqkit.timing.seconds": ("duration",),
        "mqkit.settings": ("Settings",),
        "mqkit.topology": ("Temporary", "Topology"),
    },
)
