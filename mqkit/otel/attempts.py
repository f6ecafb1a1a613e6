"""A span for each attempt at a message, or at a batch.

An attempt at one message is in the trace of the message, under the span that it was created in, and
linked to that, too. A batch has many such spans, so that it begins a trace of its own, with a link
to each. Whatever is current where the consumer was started is neither's parent.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from mqkit.consumer.observing.attempts import ArrivalT, ResultT
from mqkit.consumer.observing.failures import Failures
from mqkit.consumer.settlement_steps import Arrival
from mqkit.message import Delivery
from mqkit.otel.describing import (
    MESSAGE_COUNT,
    SETTLEMENT,
    describe_delivery,
)
from mqkit.otel.operations import DESTINATION_NAME, PROCESS, TEMPORARY, Beginnings
from mqkit.otel.sending import LINKS_MAX, link_to
from mqkit.otel.settling import ATTEMPTED, TracedFailures
from mqkit.otel.tracing import Tracing, within
from mqkit.retry.signals import Unavailable

UNAVAILABLE = "unavailable"
"""The settlement of a message that waits for what its handler needs
(:mod:`mqkit.consumer.breaker.breaker`)."""


class TracedAttempts:
    """The attempts of one consumer of ``queue``."""

    def __init__(
        self, tracing: Tracing, beginnings: Beginnings, queue: str, *, is_temporary: bool
    ) -> None:
        self._tracing = tracing
        self._beginnings = beginnings
        self._queue = queue
        self._destination = TEMPORARY if is_temporary else queue
        self._name = "" if is_temporary else queue

    def message(
        self, attempt: Callable[[ArrivalT], Coroutine[Any, Any, ResultT]]
    ) -> Callable[[ArrivalT], Coroutine[Any, Any, ResultT]]:
        """See :class:`~mqkit.consumer.observing.attempts.AroundAttempts`."""

        async def traced(arrival: ArrivalT) -> ResultT:
            context = self._tracing.propagation.context_of(arrival.delivery.headers)
            span = self._begin(context)
            if span.is_recording():
                self._describe(span, arrival.delivery, context)
            with _attempted(span, context):
                said = await attempt(arrival)
                _tell_unavailable(span, said)
                return said

        return traced

    def batch(
        self, attempt: Callable[[Sequence[Arrival]], Coroutine[Any, Any, ResultT]]
    ) -> Callable[[Sequence[Arrival]], Coroutine[Any, Any, ResultT]]:
        """See :class:`~mqkit.consumer.observing.attempts.AroundAttempts`."""

        async def traced(arrivals: Sequence[Arrival]) -> ResultT:
            context = Context()
            span = self._begin(context)
            if span.is_recording():
                self._describe_batch(span, arrivals)
            with _attempted(span, context):
                said = await attempt(arrivals)
                _tell_unavailable(span, said)
                return said

        return traced

    def failures(self, failures: Failures, *, of_batches: bool) -> Failures:
        """See :class:`~mqkit.consumer.observing.attempts.AroundAttempts`."""
        return TracedFailures(failures, of_batches=of_batches)

    def _begin(self, context: Context) -> Span:
        return self._tracing.begin(self._beginnings.of(PROCESS, self._destination), context)

    def _describe(self, span: Span, delivery: Delivery, context: Context) -> None:
        describe_delivery(span, delivery, self._queue, self._name)
        creation = trace.get_current_span(context).get_span_context()
        if creation.is_valid:
            span.add_link(creation)

    def _describe_batch(self, span: Span, arrivals: Sequence[Arrival]) -> None:
        span.set_attribute(MESSAGE_COUNT, len(arrivals))
        if self._name:
            span.set_attribute(DESTINATION_NAME, self._name)
        for arrival in arrivals[:LINKS_MAX]:
            headers = arrival.delivery.headers
            context = self._tracing.propagation.creation_context_of(headers)
            if context is not None:
                link_to(span, context, arrival.delivery.message_id)


@contextmanager
def _attempted(span: Span, context: Context) -> Iterator[None]:
    token = ATTEMPTED.set(span)
    try:
        with within(span, context):
            yield
    finally:
        ATTEMPTED.reset(token)


def _tell_unavailable(span: Span, said: object) -> None:
    if isinstance(said, Unavailable) and span.is_recording():
        span.set_attribute(SETTLEMENT, UNAVAILABLE)
