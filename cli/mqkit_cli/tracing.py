"""``--trace``: a span for each message that a command publishes.

Spans are by OpenTelemetry's global provider, which ``opentelemetry-instrument`` sets up. What needs
the extra ``[otel]`` is imported where the option is given.
"""

from __future__ import annotations

from typing import Annotated

import typer

from mqkit.middleware import Publishes
from mqkit.middleware.tracing import Broker

TraceOption = Annotated[
    bool,
    typer.Option("--trace", help="A span for each message; run it under opentelemetry-instrument."),
]


def traced_publisher(publisher: Publishes, broker: Broker) -> Publishes:
    """``publisher`` with a span for each message, or each batch, that goes to ``broker``."""
    from mqkit.otel.of_app import TracedApp
    from mqkit.otel.tracing import Tracing

    return TracedApp(Tracing()).around_publisher(publisher, broker)
