"""A span for each publish, each batch and each call.

A message is created under the span of its publish, whose context it carries. One that carries a
context already, a row of the outbox or a message that is passed on, keeps it: its publish is linked
to it, and in the same trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span

from mqkit.message import Message
from mqkit.middleware.surrounded_publisher import Publishes
from mqkit.middleware.tracing import Broker, Call
from mqkit.otel.describing import (
    MESSAGE_ID,
    describe_batch,
    describe_message,
    describe_outcomes,
)
from mqkit.otel.operations import CALL, FORWARD, SEND, Beginnings, Operation, destination_of
from mqkit.otel.tracing import Tracing, within
from mqkit.outcome import Outcome
from mqkit.pool import Fill, WhenBlocked

LINKS_MAX = 128
"""Links of one span, as many as OpenTelemetry's SDK keeps unless it is told otherwise. A batch may
have 32,767 messages."""


class SendSpans:
    """Begins the spans of messages that go out to ``broker``."""

    def __init__(self, tracing: Tracing, broker: Broker) -> None:
        self._tracing = tracing
        self._propagation = tracing.propagation
        self._beginnings = Beginnings(broker)

    def begin(self, message: Message, operation: Operation = SEND) -> tuple[Span, Message]:
        """The span of the publish, and the message to publish. End the span."""
        created = self._propagation.creation_context_of(message.properties.headers)
        if created is not None:
            return self.begin_forwarding(message, created), message
        span = self._tracing.begin(self._beginnings.of(operation, destination_of(message)))
        if span.is_recording():
            describe_message(span, message)
        carrier = self._propagation.carrier(trace.set_span_in_context(span))
        return span, self._propagation.carrying(message, carrier)

    def begin_forwarding(self, message: Message, created: Context) -> Span:
        """The span of the publish of ``message``, which was created in another one. End it."""
        beginning = self._beginnings.of(FORWARD, destination_of(message))
        creation = trace.get_current_span(created).get_span_context()
        current = trace.get_current_span().get_span_context()
        links = [Link(creation)]
        parent: Context | None = created
        if current.is_valid and current.trace_id == creation.trace_id:
            parent = None  # the current one
        elif current.is_valid:
            links.append(Link(current))
        span = self._tracing.begin(beginning, parent, links)
        if span.is_recording():
            describe_message(span, message)
        return span

    def begin_batch(self, messages: Sequence[Message]) -> tuple[Span, list[Message]]:
        """The span of the publish of a batch, and the messages to publish. End the span."""
        created = [
            self._propagation.creation_context_of(message.properties.headers)
            for message in messages
        ]
        destinations = {destination_of(message) for message in messages}
        destination = destinations.pop() if len(destinations) == 1 else ""
        operation = SEND if None in created else FORWARD
        span = self._tracing.begin(self._beginnings.of(operation, destination))
        if span.is_recording():
            describe_batch(span, messages)
            linked = [
                (message, context)
                for message, context in zip(messages, created, strict=True)
                if context is not None
            ]
            for message, context in linked[:LINKS_MAX]:
                link_to(span, context, message.properties.message_id)
        carrier = self._propagation.carrier(trace.set_span_in_context(span))
        return span, [
            self._propagation.carrying(message, carrier) if context is None else message
            for message, context in zip(messages, created, strict=True)
        ]


def link_to(span: Span, context: Context, message_id: str | None) -> None:
    """Link ``span`` to the span in ``context``, of a message of that id."""
    attributes = None if message_id is None else {MESSAGE_ID: message_id}
    span.add_link(trace.get_current_span(context).get_span_context(), attributes)


class TracedPublisher:
    """Takes the place of ``publisher``."""

    def __init__(self, publisher: Publishes, spans: SendSpans) -> None:
        self._publisher = publisher
        self._spans = spans

    async def publish(
        self,
        message: Message,
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        fill: Fill | None = None,
    ) -> Outcome:
        """As the publisher's."""
        span, message = self._spans.begin(message)
        with within(span):
            outcome = await self._publisher.publish(message, deadline_s, resend, on_blocked, fill)
            if span.is_recording():
                describe_outcomes(span, [outcome])
            return outcome

    async def publish_batch(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]:
        """As the publisher's. One span for all."""
        if not messages:
            return await self._publisher.publish_batch(messages, deadline_s, resend, on_blocked)
        span, messages = self._spans.begin_batch(messages)
        with within(span):
            outcomes = await self._publisher.publish_batch(messages, deadline_s, resend, on_blocked)
            if span.is_recording():
                describe_outcomes(span, outcomes)
            return outcomes


class TracedCall:
    """Takes the place of ``call``; the span lasts until the answer is there."""

    def __init__(self, call: Call, spans: SendSpans) -> None:
        self._call = call
        self._spans = spans

    async def __call__(self, message: Message, reply: Any, deadline_s: float) -> Any:
        span, message = self._spans.begin(message, CALL)
        with within(span):
            return await self._call(message, reply, deadline_s)
