"""Spans of publishes, batches and calls: parents, links, outcomes, and the headers that go out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from mqkit.errors import Closed, RemoteError
from mqkit.message import Message, Properties
from mqkit.otel.sending import LINKS_MAX, SendSpans, TracedCall, TracedPublisher
from mqkit.otel.tracing import Tracing
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.transport.seam import Endpoint

pytestmark = pytest.mark.anyio

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = f"{PARENT[:-2]}00"


class Scripted:
    """A publisher whose messages say what becomes of them, by their routing key; it keeps them."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.current: list[trace.SpanContext] = []

    async def publish(self, message: Message, *terms: Any) -> Outcome:
        self.current.append(trace.get_current_span().get_span_context())
        self.sent.append(message)
        match message.routing_key:
            case "closed":
                raise Closed("it is closed")
            case "nowhere":
                return Rejected(RejectReason.NO_EXCHANGE, "no exchange 'secret' in vhost")
            case "lost":
                return Unknown("amqp://user:secret@broker is lost")
        return Confirmed()

    async def publish_batch(self, messages: Sequence[Message], *terms: Any) -> list[Outcome]:
        return [await self.publish(message) for message in messages]

    @property
    def parents(self) -> list[object]:
        return [message.properties.headers.get("traceparent") for message in self.sent]


def message(key: str = "ok", exchange: str = "orders", **headers: object) -> Message:
    return Message(exchange, key, b"body", Properties(message_id=f"m-{key}", headers=headers))


def sends(spans: Any) -> SendSpans:
    return SendSpans(Tracing(spans.provider, spans.propagator), lambda: Endpoint("here"))


def traced(spans: Any) -> tuple[Scripted, TracedPublisher]:
    scripted = Scripted()
    return scripted, TracedPublisher(scripted, sends(spans))


def parent_of(span: Any) -> str:
    """The header that carries the span."""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


async def test_a_message_is_created_under_the_span_of_its_publish(spans: Any) -> None:
    scripted, publisher = traced(spans)
    with spans.tracer.start_as_current_span("request"):
        assert await publisher.publish(message(x=1))
    span = spans.one("send orders")
    assert span.kind is SpanKind.PRODUCER
    assert span.parent == spans.one("request").context
    assert not span.links
    assert span.status.status_code is StatusCode.UNSET
    assert dict(span.attributes) == {
        "messaging.system": "rabbitmq",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.template": "orders",
        "messaging.destination.name": "orders:ok",
        "messaging.rabbitmq.destination.routing_key": "ok",
        "messaging.message.id": "m-ok",
        "mqkit.outcome": "confirmed",
        "server.address": "here",
        "server.port": 5672,
    }
    (sent,) = scripted.sent
    assert sent.properties.headers == {"x": 1, "traceparent": parent_of(span)}
    assert scripted.current == [span.context]


@pytest.mark.parametrize(
    ("key", "outcome", "error"),
    [("nowhere", "rejected", "no_exchange"), ("lost", "unknown", "unknown")],
)
async def test_an_outcome_that_is_no_confirm_is_an_error_by_its_type_alone(
    spans: Any, key: str, outcome: str, error: str
) -> None:
    _, publisher = traced(spans)
    assert not await publisher.publish(message(key))
    (span,) = spans.ended
    assert (span.attributes["mqkit.outcome"], span.attributes["error.type"]) == (outcome, error)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert "secret" not in span.to_json()


async def test_what_a_publish_raises_is_told_and_raised(spans: Any) -> None:
    _, publisher = traced(spans)
    with pytest.raises(Closed):
        await publisher.publish(message("closed"))
    (span,) = spans.ended
    assert span.attributes["error.type"] == "Closed"
    assert "mqkit.outcome" not in span.attributes
    assert not span.events
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_context_of_its_own_is_kept_and_its_publish_is_in_the_same_trace(
    spans: Any,
) -> None:
    scripted, publisher = traced(spans)
    await publisher.publish(message(traceparent=PARENT))
    with spans.tracer.start_as_current_span("another trace"):
        await publisher.publish(message(traceparent=PARENT))
    assert scripted.parents == [PARENT, PARENT]
    alone, beside = spans.named("send orders")
    other = spans.one("another trace")
    for span in (alone, beside):
        assert span.kind is SpanKind.CLIENT
        assert f"{span.parent.trace_id:032x}-{span.parent.span_id:016x}" in PARENT
    assert [link.context.span_id for link in alone.links] == [alone.parent.span_id]
    assert [link.context.span_id for link in beside.links] == [
        beside.parent.span_id,
        other.context.span_id,
    ]


async def test_what_is_passed_on_in_its_own_trace_is_under_who_passes_it_on(spans: Any) -> None:
    scripted, publisher = traced(spans)
    with spans.tracer.start_as_current_span("first") as first:
        header = parent_of(first)
        with spans.tracer.start_as_current_span("second"):
            await publisher.publish(message(traceparent=header))
    span = spans.one("send orders")
    assert span.parent == spans.one("second").context
    assert [link.context.span_id for link in span.links] == [spans.one("first").context.span_id]
    assert scripted.parents == [header]


async def test_a_context_that_can_not_be_read_is_replaced(spans: Any) -> None:
    scripted, publisher = traced(spans)
    await publisher.publish(message(traceparent="nonsense", tracestate="a=b"))
    (span,) = spans.ended
    assert span.parent is None
    assert scripted.sent[0].properties.headers == {"traceparent": parent_of(span)}


async def test_a_batch_is_one_span_whose_context_its_messages_carry(spans: Any) -> None:
    scripted, publisher = traced(spans)
    assert all(await publisher.publish_batch([message("a"), message("b")]))
    (span,) = spans.ended
    assert (span.name, span.kind) == ("send orders", SpanKind.PRODUCER)
    assert span.attributes["messaging.batch.message_count"] == 2
    assert "messaging.message.id" not in span.attributes
    assert "messaging.destination.name" not in span.attributes
    assert scripted.parents == [parent_of(span)] * 2


async def test_a_batch_says_what_all_its_messages_have_in_common(spans: Any) -> None:
    _, publisher = traced(spans)
    outcomes = await publisher.publish_batch([message("nowhere"), message("nowhere")])
    assert [bool(outcome) for outcome in outcomes] == [False, False]
    await publisher.publish_batch([message(), message(exchange="other")])
    alike, mixed = spans.ended
    assert alike.attributes["messaging.destination.name"] == "orders:nowhere"
    assert (alike.attributes["mqkit.outcome"], alike.status.status_code) == (
        "rejected",
        StatusCode.ERROR,
    )
    assert mixed.name == "send"


async def test_messages_of_a_batch_that_carry_a_context_are_linked(spans: Any) -> None:
    scripted, publisher = traced(spans)
    await publisher.publish_batch([message("a"), message("b", traceparent=PARENT)])
    await publisher.publish_batch([message("c", traceparent=PARENT)])
    mixed, forwarded = spans.ended
    assert (mixed.kind, forwarded.kind) == (SpanKind.PRODUCER, SpanKind.CLIENT)
    assert scripted.parents == [parent_of(mixed), PARENT, PARENT]
    (link,) = mixed.links
    assert f"{link.context.span_id:016x}" in PARENT
    assert link.attributes == {"messaging.message.id": "m-b"}


async def test_the_links_of_a_batch_are_bounded(spans: Any) -> None:
    _, publisher = traced(spans)
    await publisher.publish_batch([message(traceparent=PARENT)] * (LINKS_MAX + 1))
    (span,) = spans.ended
    assert len(span.links) == LINKS_MAX
    assert span.dropped_links == 0
    assert span.attributes["messaging.batch.message_count"] == LINKS_MAX + 1


async def test_an_empty_batch_is_no_span(spans: Any) -> None:
    _, publisher = traced(spans)
    assert await publisher.publish_batch([]) == []
    assert spans.ended == ()


async def test_an_unsampled_context_is_carried_on(spans: Any, unsampled: Any) -> None:
    scripted, publisher = traced(unsampled)
    await publisher.publish(message())
    await publisher.publish_batch([message(), message()])
    assert unsampled.ended == ()
    flags = {int(str(header).rpartition("-")[2], 16) for header in scripted.parents}
    assert not any(flag & trace.TraceFlags.SAMPLED for flag in flags)
    scripted, publisher = traced(spans)  # which samples what has no parent
    await publisher.publish(message(traceparent=UNSAMPLED))
    assert spans.ended == ()
    assert scripted.parents == [UNSAMPLED]


async def test_a_body_that_is_made_in_its_turn_is_made_for_the_message_that_goes(
    spans: Any,
) -> None:
    class Filling(Scripted):
        async def publish(self, message: Message, *terms: Any) -> Outcome:
            fill: Callable[[Message], Message] = terms[3]
            return await super().publish(fill(message))

    filling = Filling()
    publisher = TracedPublisher(filling, sends(spans))
    await publisher.publish(message(), fill=lambda it: Message(*_parts(it), b"late", it.properties))
    (span,) = spans.ended
    assert filling.sent[0].body == b"late"
    assert filling.parents == [parent_of(span)]


def _parts(message: Message) -> tuple[str, str]:
    return message.exchange, message.routing_key


async def test_a_call_is_a_span_until_its_answer_is_there(spans: Any) -> None:
    asked: list[Message] = []

    async def call(message: Message, reply: Any, deadline_s: float) -> Any:
        asked.append(message)
        if message.routing_key == "fails":
            raise RemoteError("ValueError", "secret")
        return reply, deadline_s

    spanned = TracedCall(call, sends(spans))
    assert await spanned(message(), int, 3.0) == (int, 3.0)
    with pytest.raises(RemoteError):
        await spanned(message("fails"), int, 3.0)
    answered, failed = spans.named("call orders")
    assert (answered.kind, answered.status.status_code) == (SpanKind.PRODUCER, StatusCode.UNSET)
    assert failed.attributes["error.type"] == "RemoteError"
    assert [each.properties.headers["traceparent"] for each in asked] == [
        parent_of(answered),
        parent_of(failed),
    ]
    assert "secret" not in failed.to_json()
