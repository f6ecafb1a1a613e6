"""A span for each row of the outbox: the message is created there, and published later, by another
process perhaps, which finds the context in its headers."""

from __future__ import annotations

from opentelemetry import trace

from mqkit.message import Message
from mqkit.otel.describing import describe_message
from mqkit.otel.operations import CREATE, Beginnings, destination_of
from mqkit.otel.tracing import Tracing
from mqkit.transport.seam import Endpoint


class TracedCreation:
    """Prepares messages for the outbox (:mod:`mqkit.outbox.preparing`)."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing
        self._beginnings = Beginnings(_no_broker)

    def __call__(self, message: Message) -> Message:
        """``message`` with the context that it was created in; unchanged if it carries one."""
        propagation = self._tracing.propagation
        if propagation.creation_context_of(message.properties.headers) is not None:
            return message
        span = self._tracing.begin(self._beginnings.of(CREATE, destination_of(message)))
        if span.is_recording():
            describe_message(span, message)
        carrier = propagation.carrier(trace.set_span_in_context(span))
        span.end()
        return propagation.carrying(message, carrier)


def _no_broker() -> Endpoint | None:
    """Who writes a row talks to a database."""
    return None
