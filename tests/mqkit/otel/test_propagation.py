"""Contexts in headers: what is read, what is not, and that nothing fails for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry import baggage, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mqkit.message import Message, Properties
from mqkit.otel.propagation import VALUE_CHARACTERS_MAX, Propagation

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE_ID, SPAN_ID = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331

WITH_BAGGAGE = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])


def seen(headers: Mapping[str, object], propagator: Any = None) -> SpanContext:
    propagation = Propagation(propagator or TraceContextTextMapPropagator())
    return trace.get_current_span(propagation.context_of(headers)).get_span_context()


def context(*, sampled: bool = True) -> Context:
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return trace.set_span_in_context(
        NonRecordingSpan(SpanContext(TRACE_ID, SPAN_ID, is_remote=False, trace_flags=flags)),
        Context(),
    )


@pytest.mark.parametrize("value", [PARENT, PARENT.encode()], ids=["text", "octets"])
def test_a_context_is_read_from_text_and_from_octets(value: object) -> None:
    found = seen({"traceparent": value, "other": 1})
    assert (found.trace_id, found.span_id, found.trace_flags) == (TRACE_ID, SPAN_ID, 1)


@pytest.mark.parametrize(
    "value",
    [
        *("", "nonsense", PARENT[:-1], PARENT.replace("0af7", "zzzz")),
        *(7, None, True, [PARENT], b"\xff"),
        *("00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * (VALUE_CHARACTERS_MAX + 1)),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_can_not_be_read_is_no_context(value: object) -> None:
    assert not seen({"traceparent": value}).is_valid
    assert (
        Propagation(TraceContextTextMapPropagator()).creation_context_of(
            {"traceparent": value, "tracestate": "a=b"}
        )
        is None
    )


def test_a_long_header_is_not_even_handed_to_the_propagator() -> None:
    long = "key=" + "v" * VALUE_CHARACTERS_MAX
    propagation = Propagation(WITH_BAGGAGE)
    assert baggage.get_all(propagation.context_of({"baggage": long})) == {}
    assert baggage.get_all(propagation.context_of({"baggage": "key=v"})) == {"key": "v"}


def test_the_current_context_is_never_taken_for_the_message_s(spans: Any) -> None:
    with spans.tracer.start_as_current_span("a program's own"):
        assert not seen({}).is_valid
        assert not seen({"traceparent": "nonsense"}).is_valid


@pytest.mark.parametrize(("sampled", "flag"), [(True, "01"), (False, "00")])
def test_a_context_is_written_with_its_flag(sampled: bool, flag: str) -> None:
    propagation = Propagation(TraceContextTextMapPropagator())
    assert propagation.carrier(context(sampled=sampled)) == {"traceparent": f"{PARENT[:-2]}{flag}"}


def test_headers_of_another_context_are_replaced_and_others_stay() -> None:
    propagation = Propagation(TraceContextTextMapPropagator())
    before = {"traceparent": "nonsense", "tracestate": "old=1", "x": 1}
    message = Message("", "q", b"", Properties(headers=before, message_id="m"))
    carrying = propagation.carrying(message, propagation.carrier(context()))
    assert carrying.properties.headers == {"traceparent": PARENT, "x": 1}
    assert carrying.properties.message_id == "m"
    assert before == {"traceparent": "nonsense", "tracestate": "old=1", "x": 1}
    assert propagation.carrying(message, {}) is message


def test_baggage_goes_along_only_by_a_propagator_that_carries_it() -> None:
    both = baggage.set_baggage("customer", "ann", context())
    assert Propagation(WITH_BAGGAGE).carrier(both)["baggage"] == "customer=ann"
    assert "baggage" not in Propagation(TraceContextTextMapPropagator()).carrier(both)


def test_without_one_of_its_own_the_global_propagator_of_the_moment_is_used() -> None:
    propagation = Propagation()
    before = propagate.get_global_textmap()
    try:
        propagate.set_global_textmap(CompositePropagator([]))
        assert propagation.carrier(context()) == {}
        assert propagation.creation_context_of({"traceparent": PARENT}) is None
        propagate.set_global_textmap(TraceContextTextMapPropagator())
        assert propagation.carrier(context()) == {"traceparent": PARENT}
        assert propagation.creation_context_of({"traceparent": PARENT}) is not None
    finally:
        propagate.set_global_textmap(before)


def test_a_propagator_that_raises_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(TextMapPropagator):
        def extract(self, carrier: Any, context: Any = None, getter: Any = None) -> Context:
            raise RuntimeError("broken")

        def inject(self, carrier: Any, context: Any = None, setter: Any = None) -> None:
            raise RuntimeError("broken")

        @property
        def fields(self) -> set[str]:
            return {"traceparent"}

    propagation = Propagation(Broken())
    with caplog.at_level(logging.WARNING, "mqkit.otel"):
        for _ in range(3):
            assert propagation.context_of({"traceparent": PARENT}) == {}
            assert propagation.carrier(context()) == {}
    assert len(caplog.records) == 1
