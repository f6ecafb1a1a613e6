"""The settlement of a message that failed, told on the span of its attempt."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from opentelemetry.trace import Span

from mqkit.consumer.observing.failures import Failures
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
from mqkit.message import Delivery
from mqkit.otel.describing import (
    ERROR_TYPE,
    MESSAGE_COUNT,
    RETRY_AFTER,
    SETTLEMENT,
    describe_error,
    mark_failed,
)
from mqkit.retry.headers import error_type
from mqkit.retry.signals import Signal

SETTLED = "mqkit.settled"
"""The event on the span of a batch: what becomes of those of its messages that fail together."""

UNCONFIRMED = "unconfirmed"
"""The type of error of an attempt whose message did not get to its tier or parking lot."""

ATTEMPTED: ContextVar[Span | None] = ContextVar("mqkit.otel.attempted", default=None)
"""The span of the attempt that this task is at. The current span may be one of the program's."""


class TracedFailures:
    """Takes the place of ``failures``. ``of_batches``: a span is of a batch."""

    def __init__(self, failures: Failures, *, of_batches: bool) -> None:
        self._failures = failures
        self._of_batches = of_batches

    def tell(
        self, deliveries: Sequence[Delivery], raised: BaseException, settlement: Settlement
    ) -> None:
        span = ATTEMPTED.get()
        if span is not None and span.is_recording():
            if self._of_batches:
                _add_event(span, len(deliveries), raised, settlement)
            else:
                _set_settlement(span, settlement)
            _describe_failure(span, raised)
        self._failures.tell(deliveries, raised, settlement)

    def answered(self, question: Delivery, raised: BaseException) -> None:
        self._describe(raised)
        self._failures.answered(question, raised)

    def too_late(self, delivery: Delivery, raised: BaseException) -> None:
        self._describe(raised)
        self._failures.too_late(delivery, raised)

    def not_confirmed(self, settlement: Republish, why: str) -> None:
        span = ATTEMPTED.get()
        if span is not None and span.is_recording():
            if not self._of_batches:
                span.set_attribute(SETTLEMENT, "requeue")
            mark_failed(span, UNCONFIRMED)
        self._failures.not_confirmed(settlement, why)

    def _describe(self, raised: BaseException) -> None:
        span = ATTEMPTED.get()
        if span is not None and span.is_recording():
            _describe_failure(span, raised)


def word_for(settlement: Settlement) -> str:
    """The settlement in a word: the value of an attribute."""
    match settlement:
        case Ack():
            return "ack"
        case Republish(to=Destination.TIER):
            return "retry"
        case Republish():
            return "park"
        case DeadLetter():
            return "dead_letter"
        case Discard():
            return "drop"
        case Requeue():
            return "requeue"
        case Hold():
            return "hold"


def _describe_failure(span: Span, raised: BaseException) -> None:
    """A signal, by which a handler asks for something, is no error."""
    if not isinstance(raised, Signal):
        describe_error(span, raised)


def _set_settlement(span: Span, settlement: Settlement) -> None:
    span.set_attribute(SETTLEMENT, word_for(settlement))
    if (after_ms := _after_ms(settlement)) is not None:
        span.set_attribute(RETRY_AFTER, after_ms)


def _add_event(span: Span, messages: int, raised: BaseException, settlement: Settlement) -> None:
    attributes: dict[str, str | int] = {
        SETTLEMENT: word_for(settlement),
        MESSAGE_COUNT: messages,
    }
    if not isinstance(raised, Signal):
        attributes[ERROR_TYPE] = error_type(raised)
    if (after_ms := _after_ms(settlement)) is not None:
        attributes[RETRY_AFTER] = after_ms
    span.add_event(SETTLED, attributes)


def _after_ms(settlement: Settlement) -> int | None:
    match settlement:
        case Republish(to=Destination.TIER, after_ms=after_ms):
            return after_ms
        case Hold(after_s):
            return round(after_s * 1000)
    return None
