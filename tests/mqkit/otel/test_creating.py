"""Rows of an outbox: the message is created when it is written."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import SpanKind

from mqkit.message import Message, Properties
from mqkit.otel.creating import TracedCreation
from mqkit.otel.tracing import Tracing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def creation(spans: Any) -> TracedCreation:
    return TracedCreation(Tracing(spans.provider, spans.propagator))


def message(**headers: object) -> Message:
    return Message("orders", "placed", b"", Properties(message_id="m", headers=headers))


def test_a_message_is_created_under_its_caller_and_carries_that(spans: Any) -> None:
    with spans.tracer.start_as_current_span("request"):
        row = creation(spans)(message(x=1))
    span = spans.one("create orders")
    assert span.kind is SpanKind.PRODUCER
    assert span.parent == spans.one("request").context
    assert span.attributes["messaging.operation.type"] == "create"
    assert span.attributes["messaging.message.id"] == "m"
    assert "server.address" not in span.attributes
    assert row.properties.headers["x"] == 1
    parent = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-"
    assert str(row.properties.headers["traceparent"]).startswith(parent)


def test_a_message_that_carries_a_context_stays_as_it_is(spans: Any) -> None:
    given = message(traceparent=PARENT)
    assert creation(spans)(given) is given
    assert spans.ended == ()


def test_an_unsampled_request_is_carried_on(unsampled: Any) -> None:
    with unsampled.tracer.start_as_current_span("request") as request:
        row = creation(unsampled)(message())
    assert unsampled.ended == ()
    parent = str(row.properties.headers["traceparent"])
    assert f"{request.get_span_context().trace_id:032x}" in parent
    assert not int(parent[-2:], 16) & 1
