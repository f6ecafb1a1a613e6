"""Settlements of messages that failed, on the spans of their attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from mqkit import Drop, Park
from mqkit.consumer.settlement import (
    Ack,
    DeadLetter,
    Destination,
    Discard,
    Hold,
    Republish,
    Requeue,
    Settlement,
)
from mqkit.message import Delivery, Message, Properties
from mqkit.otel.settling import ATTEMPTED, SETTLED, TracedFailures, word_for

MESSAGE = Message("", "q.retry.10", b"")
DELIVERY = Delivery("", "q", b"", Properties(), 1, False)
RETRY = Republish(Destination.TIER, MESSAGE, 10)
PARK = Republish(Destination.PARKING_LOT, MESSAGE)


class Told:
    """Failures that are kept."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def tell(
        self, deliveries: Sequence[Delivery], raised: BaseException, settlement: Settlement
    ) -> None:
        self.calls.append(("tell", len(deliveries), raised, settlement))

    def answered(self, question: Delivery, raised: BaseException) -> None:
        self.calls.append(("answered", question, raised))

    def too_late(self, delivery: Delivery, raised: BaseException) -> None:
        self.calls.append(("too_late", delivery, raised))

    def not_confirmed(self, settlement: Republish, why: str) -> None:
        self.calls.append(("not_confirmed", settlement, why))


@contextmanager
def attempt(spans: Any) -> Iterator[None]:
    with spans.tracer.start_as_current_span("attempt") as span:
        token = ATTEMPTED.set(span)
        try:
            # The program's own span is current where the failure is told.
            with spans.tracer.start_as_current_span("within"):
                yield
        finally:
            ATTEMPTED.reset(token)


@pytest.mark.parametrize(
    ("settlement", "word", "after_ms"),
    [
        (RETRY, "retry", 10),
        (PARK, "park", None),
        (Discard("no"), "drop", None),
        (DeadLetter("no"), "dead_letter", None),
        (Requeue("no"), "requeue", None),
        (Hold(1.5), "hold", 1500),
        (Ack(), "ack", None),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_a_settlement_is_a_word_on_the_span(
    spans: Any, settlement: Settlement, word: str, after_ms: int | None
) -> None:
    told, error = Told(), ValueError("a secret")
    with attempt(spans):
        TracedFailures(told, of_batches=False).tell([DELIVERY], error, settlement)
    span = spans.one("attempt")
    assert word_for(settlement) == span.attributes["mqkit.settlement"] == word
    assert span.attributes.get("mqkit.retry.after_ms") == after_ms
    assert (span.attributes["error.type"], span.status.status_code) == (
        "ValueError",
        StatusCode.ERROR,
    )
    assert "secret" not in span.to_json()
    assert not spans.one("within").attributes
    assert told.calls == [("tell", 1, error, settlement)]


@pytest.mark.parametrize("signal", [Drop("x"), Park("x")], ids=["drop", "park"])
def test_what_a_handler_asks_for_is_no_error(spans: Any, signal: Exception) -> None:
    with attempt(spans):
        TracedFailures(Told(), of_batches=False).tell([DELIVERY], signal, PARK)
    span = spans.one("attempt")
    assert span.attributes == {"mqkit.settlement": "park"}
    assert span.status.status_code is StatusCode.UNSET


def test_of_a_batch_each_kind_of_failure_is_an_event(spans: Any) -> None:
    with attempt(spans):
        failures = TracedFailures(Told(), of_batches=True)
        failures.tell([DELIVERY] * 3, ValueError(), RETRY)
        failures.tell([DELIVERY], Park("x"), PARK)
    span = spans.one("attempt")
    assert [event.name for event in span.events] == [SETTLED, SETTLED]
    assert [dict(event.attributes) for event in span.events] == [
        {
            "mqkit.settlement": "retry",
            "messaging.batch.message_count": 3,
            "error.type": "ValueError",
            "mqkit.retry.after_ms": 10,
        },
        {"mqkit.settlement": "park", "messaging.batch.message_count": 1},
    ]
    assert span.status.status_code is StatusCode.ERROR
    assert "mqkit.settlement" not in span.attributes


def test_a_retry_that_is_not_confirmed_is_a_requeue(spans: Any) -> None:
    told = Told()
    with attempt(spans):
        failures = TracedFailures(told, of_batches=False)
        failures.tell([DELIVERY], ValueError(), RETRY)
        failures.not_confirmed(RETRY, "no queue takes it")
    span = spans.one("attempt")
    assert span.attributes["mqkit.settlement"] == "requeue"
    assert span.attributes["error.type"] == "unconfirmed"
    assert told.calls[1] == ("not_confirmed", RETRY, "no queue takes it")


@pytest.mark.parametrize("method", ["answered", "too_late"])
def test_a_failure_that_changes_nothing_is_an_error(spans: Any, method: str) -> None:
    told, error = Told(), ValueError()
    with attempt(spans):
        getattr(TracedFailures(told, of_batches=False), method)(DELIVERY, error)
    assert spans.one("attempt").attributes == {"error.type": "ValueError"}
    assert told.calls == [(method, DELIVERY, error)]


def test_outside_of_an_attempt_nothing_is_written_on_a_span_of_the_program_s(spans: Any) -> None:
    told = Told()
    with spans.tracer.start_as_current_span("the program's own"):
        failures = TracedFailures(told, of_batches=False)
        failures.tell([DELIVERY], ValueError(), RETRY)
        failures.not_confirmed(RETRY, "why")
        failures.too_late(DELIVERY, ValueError())
    assert not spans.one("the program's own").attributes
    assert len(told.calls) == 3
