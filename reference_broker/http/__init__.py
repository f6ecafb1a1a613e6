"""The management API: RabbitMQ's paths and JSON names, served in the broker's own event loop.

Reading looks at the core's objects as they are; changing something is an input of the core like
any other (``request/core_input.py``), and is answered when it is on disk.
"""

from __future__ import annotations

from reference_broker.http.metrics.metrics import build_metrics_app
from reference_broker.http.request.host import Host, ListenerTls, Listening, Node
from reference_broker.http.request.turn_share import TurnShare
from reference_broker.http.rows.sampler import Sampler
from reference_broker.http.serving.app import build_app
from reference_broker.http.serving.http_server import HttpServer

__all__ = [
    "Host", "HttpServer", "ListenerTls", "Listening", "Node", "Sampler", "TurnShare",
    "build_app", "build_metrics_app",
]  # fmt: skip
