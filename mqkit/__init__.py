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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqkit.app import App
    from mqkit.consumer import Batch, ManualDelivery, QueueHandle, Stats
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
        Unreachable,
    )
    from mqkit.incoming import BodyMisfit
    from mqkit.message import Delivery, Message, Properties
    from mqkit.middleware import HandleMiddleware, HandleNext, PublishMiddleware, PublishNext
    from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
    from mqkit.publishing.message_options import MessageOptions
    from mqkit.publishing.target import Target
    from mqkit.resources import depends
    from mqkit.retry import Drop, Park, RetryLater, RetryPolicy, Unavailable
    from mqkit.seconds import duration
    from mqkit.settings import Settings
    from mqkit.topology import Temporary, Topology

__all__ = [
    "App",
    "Batch",
    "BodyMisfit",
    "BrokerError",
    "CallRejected",
    "ChannelError",
    "Closed",
    "ConfigurationError",
    "Confirmed",
    "ConnectionLost",
    "ConnectionRefused",
    "DeadlineExceeded",
    "Delivery",
    "Drop",
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
    "QueueHandle",
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
    "TopologyError",
    "TransportError",
    "Unavailable",
    "Unknown",
    "Unreachable",
    "depends",
    "duration",
]

_MODULES = {
    "mqkit.app": ("App",),
    "mqkit.consumer": ("Batch", "ManualDelivery", "QueueHandle", "Stats"),
    "mqkit.incoming": ("BodyMisfit",),
    "mqkit.message": ("Delivery", "Message", "Properties"),
    "mqkit.middleware": ("HandleMiddleware", "HandleNext", "PublishMiddleware", "PublishNext"),
    "mqkit.publishing.message_options": ("MessageOptions",),
    "mqkit.outcome": ("Confirmed", "Outcome", "Rejected", "RejectReason", "Unknown"),
    "mqkit.resources": ("depends",),
    "mqkit.retry": ("Drop", "Park", "RetryLater", "RetryPolicy", "Unavailable"),
    "mqkit.seconds": ("duration",),
    "mqkit.settings": ("Settings",),
    "mqkit.publishing.target": ("Target",),
    "mqkit.topology": ("Temporary", "Topology"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mqkit' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "mqkit.errors")), name)
    globals()[name] = value
    return value
