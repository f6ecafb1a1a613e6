"""Attributes of spans that are recorded. Ask :meth:`~opentelemetry.trace.Span.is_recording` first.

Bodies, headers, texts of errors and addresses with a login never become attributes: an error is
told by its type alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.trace import Span, Status, StatusCode

from mqkit.message import Delivery, Message
from mqkit.otel.operations import DESTINATION_NAME, full_name
from mqkit.outcome import Outcome, Rejected, Unknown
from mqkit.retry.headers import error_type, failures_of

ROUTING_KEY = "messaging.rabbitmq.destination.routing_key"
DELIVERY_TAG = "messaging.rabbitmq.message.delivery_tag"
MESSAGE_ID = "messaging.message.id"
MESSAGE_COUNT = "messaging.batch.message_count"
ERROR_TYPE = "error.type"
OUTCOME = "mqkit.outcome"
ATTEMPT = "mqkit.attempt"
SETTLEMENT = "mqkit.settlement"
RETRY_AFTER = "mqkit.retry.after_ms"

UNKNOWN = "unknown"
"""The outcome of a publish that nobody knows, and its type of error."""


def describe_message(span: Span, message: Message) -> None:
    """A message that goes out."""
    span.set_attribute(DESTINATION_NAME, full_name(message.exchange, message.routing_key))
    if message.routing_key:
        span.set_attribute(ROUTING_KEY, message.routing_key)
    if message.properties.message_id is not None:
        span.set_attribute(MESSAGE_ID, message.properties.message_id)


def describe_delivery(span: Span, delivery: Delivery, queue: str, name: str) -> None:
    """A message that came from ``queue``; ``name`` is what others know the queue by, if they do."""
    key = delivery.routing_key
    span.set_attribute(DESTINATION_NAME, full_name(delivery.exchange, key, name))
    if key:
        span.set_attribute(ROUTING_KEY, key)
    if delivery.message_id is not None:
        span.set_attribute(MESSAGE_ID, delivery.message_id)
    span.set_attribute(DELIVERY_TAG, delivery.delivery_tag)
    span.set_attribute(ATTEMPT, failures_of(delivery.headers, queue) + 1)


def describe_batch(span: Span, messages: Sequence[Message]) -> None:
    """Messages that go out together: what they have in common."""
    span.set_attribute(MESSAGE_COUNT, len(messages))
    places = {(message.exchange, message.routing_key) for message in messages}
    if len(places) == 1:
        exchange, key = places.pop()
        span.set_attribute(DESTINATION_NAME, full_name(exchange, key))
        if key:
            span.set_attribute(ROUTING_KEY, key)


def describe_outcomes(span: Span, outcomes: Sequence[Outcome]) -> None:
    """The outcome of a publish; of a batch the first that is no confirm."""
    outcome = next((each for each in outcomes if not each), None)
    match outcome:
        case Rejected():
            span.set_attribute(OUTCOME, "rejected")
            mark_failed(span, outcome.reason.name.lower())
        case Unknown():
            span.set_attribute(OUTCOME, UNKNOWN)
            mark_failed(span, UNKNOWN)
        case _:
            span.set_attribute(OUTCOME, "confirmed")


def describe_error(span: Span, error: BaseException) -> None:
    """The operation raised ``error``."""
    mark_failed(span, error_type(error))


def mark_failed(span: Span, kind: str) -> None:
    """``kind`` is one of few."""
    span.set_attribute(ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR))
