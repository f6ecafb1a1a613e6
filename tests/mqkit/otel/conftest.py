"""Spans in memory: a provider of the test's own, and what it has exported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import DEFAULT_ON, Sampler
from opentelemetry.trace import SpanContext, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator


class Spans:
    """A provider, and its spans as they end."""

    def __init__(self, sampler: Sampler = DEFAULT_ON) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.propagator = CompositePropagator([TraceContextTextMapPropagator()])

    @property
    def tracer(self) -> Tracer:
        """The program's own."""
        return self.provider.get_tracer("the test")

    @property
    def ended(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of that name, in the order of their ends."""
        return [span for span in self.ended if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span


def context_of(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def unsampled() -> Spans:
    """Of a provider that samples nothing by itself, and follows its parents."""
    from opentelemetry.sdk.trace.sampling import DEFAULT_OFF

    return Spans(DEFAULT_OFF)
