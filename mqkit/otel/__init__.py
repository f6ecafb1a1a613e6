"""Spans of OpenTelemetry (``pip install 'mqkit[otel]'``), by its conventions for messaging.

    instrumenting   what a program calls
    of_app          the tracing of one app
    tracing         a tracer and a propagator, and the current span
    operations      the operations that spans are of, and their names and first attributes
    propagation     contexts into headers, and out of them
    sending         a span for each publish, each batch, each call
    attempts        a span for each attempt at a message or batch
    settling        what becomes of a message that failed, on the span of its attempt
    creating        a span for each row of the outbox
    returning       a span for each message that goes out of a lot
    describing      attributes of spans that are recorded

Two laws: a message never fails for its trace, and a span that is not recorded costs no attributes.

    app = mqkit.App("amqp://broker", topology="topology.yaml")
    mqkit.otel.instrument(app)
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.otel.instrumenting import instrument, instrument_outbox, traced

__all__ = ["instrument", "instrument_outbox", "traced"]

__getattr__ = lazy_names(
    __name__,
    {"mqkit.otel.instrumenting": ("instrument", "instrument_outbox", "traced")},
)
