"""``Tracing``: a tracer and a propagator; and a span made the current one for a block."""

from __future__ import annotations

from types import TracebackType

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import Span, Tracer, TracerProvider

from mqkit.otel.describing import describe_error
from mqkit.otel.operations import SCHEMA_URL, Beginning
from mqkit.otel.propagation import Propagation

TRACER = "mqkit"


class Tracing:
    """By ``tracer_provider`` and ``propagator``; by OpenTelemetry's globals without them, also
    where those are set later."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        propagator: TextMapPropagator | None = None,
    ) -> None:
        self._tracer: Tracer = trace.get_tracer(
            TRACER, tracer_provider=tracer_provider, schema_url=SCHEMA_URL
        )
        self.propagation = Propagation(propagator)

    def begin(
        self,
        beginning: Beginning,
        context: Context | None = None,
        links: list[trace.Link] | None = None,
    ) -> Span:
        """A span in ``context``, or in the current one. End it."""
        return self._tracer.start_span(
            beginning.name, context, beginning.kind, beginning.attributes, links
        )


class within:
    """Makes ``span`` the current one in ``context`` (without it, in the current one) for the time
    of the block, and ends it. What the block raises is told on it.

    A class, since a generator would cost each message more than its header does.
    """

    __slots__ = ("_context", "_span", "_token")

    def __init__(self, span: Span, context: Context | None = None) -> None:
        self._span = span
        self._context = context

    def __enter__(self) -> None:
        self._token = contexts.attach(trace.set_span_in_context(self._span, self._context))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace_back: TracebackType | None,
    ) -> None:
        if error is not None and self._span.is_recording():
            describe_error(self._span, error)
        contexts.detach(self._token)
        self._span.end()
