"""The span of a block, and the globals of OpenTelemetry."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import StatusCode

from mqkit.otel.operations import SCHEMA_URL, SEND, Beginnings
from mqkit.otel.tracing import Tracing, within

ORDERS = Beginnings(lambda: None).of(SEND, "orders")


def current() -> trace.SpanContext:
    return trace.get_current_span().get_span_context()


def test_a_span_is_current_in_its_block_and_ends_with_it(spans: Any) -> None:
    with spans.tracer.start_as_current_span("outer") as outer:
        span = Tracing(spans.provider).begin(ORDERS)
        with within(span):
            assert current() == span.get_span_context()
        assert current() == outer.get_span_context()
    ended = spans.one("send orders")
    assert ended.parent == outer.get_span_context()
    assert ended.status.status_code is StatusCode.UNSET
    assert (ended.instrumentation_scope.name, ended.instrumentation_scope.schema_url) == (
        "mqkit",
        SCHEMA_URL,
    )


def test_an_empty_context_has_no_parent(spans: Any) -> None:
    with spans.tracer.start_as_current_span("outer"):
        Tracing(spans.provider).begin(ORDERS, Context()).end()
    assert spans.one("send orders").parent is None


@pytest.mark.parametrize("error", [ValueError("a secret"), asyncio.CancelledError()], ids=repr)
def test_what_the_block_raises_is_told_by_its_type_and_raised(
    spans: Any, error: BaseException
) -> None:
    with pytest.raises(type(error)), within(Tracing(spans.provider).begin(ORDERS)):
        raise error
    ended = spans.one("send orders")
    assert ended.attributes["error.type"] == type(error).__name__
    assert (ended.status.status_code, ended.status.description) == (StatusCode.ERROR, None)
    assert not ended.events
    assert not current().is_valid


def test_where_no_sdk_is_set_up_there_is_nothing_to_end() -> None:
    span = Tracing().begin(ORDERS)
    assert not span.is_recording()
    with within(span):
        assert not current().is_valid
