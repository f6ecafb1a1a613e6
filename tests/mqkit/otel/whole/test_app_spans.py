"""Spans of an app on a real broker: parents, threads, batches, acks, sampling, and what a message
brings along."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from mqkit import App, Batch, Delivery, Drop, ManualDelivery, Message, Park, Temporary, otel
from mqkit.outcome import Outcome
from mqkit.topology import loads

pytestmark = pytest.mark.anyio

WAIT_S = 30.0
UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


RETRY = "retry: {after: [10ms], then: park}"


def traced_app(url: str, spans: Any, queue: str, options: str = RETRY) -> App:
    app = App(url, loads(f"queues: {{{queue}: {{{options}}}}}"))
    otel.instrument(app, tracer_provider=spans.provider, propagator=spans.propagator)
    return app


@pytest.fixture
def queue(unique: Callable[[str], str]) -> str:
    name = unique("orders")
    for each in ("parked", "retry.10"):  # remembered, to be deleted
        unique(f"orders.{each}")
    return name


class Seen:
    """Handlers note what is current in them."""

    def __init__(self) -> None:
        self.contexts: list[SpanContext] = []
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def note(self) -> None:
        self.contexts.append(trace.get_current_span().get_span_context())
        self._loop.call_soon_threadsafe(self._arrived.set)

    async def until(self, number: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while len(self.contexts) < number:
                self._arrived.clear()
                await self._arrived.wait()


@pytest.fixture
async def seen() -> Seen:
    return Seen()


def same(one: SpanContext | None, other: SpanContext | None) -> bool:
    """A context that came in a header is "remote"."""
    return (
        one is not None
        and other is not None
        and ((one.trace_id, one.span_id) == (other.trace_id, other.span_id))
    )


async def test_a_handler_runs_within_its_span_on_a_thread_too(
    broker: Any, queue: str, spans: Any, seen: Seen
) -> None:
    threads: list[str] = []
    with spans.tracer.start_as_current_span("the start of the program"):
        app = traced_app(broker.url, spans, queue)

        @app.around_handle
        async def around(delivery: Delivery, handle: Any) -> object:
            with spans.tracer.start_as_current_span("middleware"):
                return await handle(delivery)

        @app.around_publish
        async def publishing(message: Message, publish: Any) -> Outcome:
            with spans.tracer.start_as_current_span("publishing"):
                outcome: Outcome = await publish(message)
                return outcome

        @app.consumer(queue)
        def handle(body: bytes) -> None:
            threads.append(threading.current_thread().name)
            seen.note()

        async with app:
            await app.publish("", queue, b"7")
            await seen.until(1)
    sent, processed = spans.one(f"send {queue}"), spans.one(f"process {queue}")
    assert sent.parent == spans.one("the start of the program").context
    assert spans.one("publishing").parent == sent.context
    # Not of what was current where the consumer was started.
    assert same(processed.parent, sent.context)
    assert spans.one("middleware").parent == processed.context
    assert seen.contexts == [spans.one("middleware").context]
    assert threads != [threading.main_thread().name]
    assert processed.kind is SpanKind.CONSUMER
    endpoint = app.settings.endpoints[0]
    assert dict(processed.attributes) == {
        "messaging.system": "rabbitmq",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.template": queue,
        "messaging.destination.name": queue,
        "messaging.rabbitmq.destination.routing_key": queue,
        "messaging.rabbitmq.message.delivery_tag": 1,
        "messaging.message.id": sent.attributes["messaging.message.id"],
        "mqkit.attempt": 1,
        "server.address": endpoint.host,
        "server.port": endpoint.port,
    }


async def test_attempts_tell_their_numbers_and_their_ends(
    broker: Any, queue: str, spans: Any, seen: Seen
) -> None:
    app = traced_app(broker.url, spans, queue)

    @app.consumer(queue)
    async def handle(body: str) -> None:
        seen.note()
        match body:
            case "fail":
                raise ValueError("a secret")
            case "drop":
                raise Drop("why")
            case "park":
                raise Park("why")

    async with app:
        for number, body in enumerate(["fail", "drop", "park"], 1):
            await app.publish("", queue, body, headers={"password": "a secret"})
            await seen.until(number + 1 if body != "fail" else 2)
    told = [
        tuple(
            span.attributes.get(name)
            for name in ("mqkit.attempt", "mqkit.settlement", "mqkit.retry.after_ms", "error.type")
        )
        for span in spans.named(f"process {queue}")
    ]
    assert sorted(told, key=str) == sorted(
        [
            (1, "retry", 10, "ValueError"),
            (2, "park", None, "ValueError"),
            (1, "drop", None, None),
            (1, "park", None, None),
        ],
        key=str,
    )
    assert not any("secret" in span.to_json() for span in spans.ended)


async def test_a_batch_is_one_span_with_a_link_to_each_message(
    broker: Any, queue: str, spans: Any, seen: Seen
) -> None:
    app = traced_app(broker.url, spans, queue)

    @app.batch_consumer(queue, size=3, within="30s")
    async def handle(batch: Batch[bytes]) -> None:
        seen.note()
        batch.entries[0].drop("why")
        batch.entries[1].fail(ValueError("a secret"))

    async with app:
        await app.publish("", queue, b"1", message_id="m1")
        await app.publish_batch([app.message("", queue, b"%d" % n) for n in (2, 3)])
        await seen.until(1)
    alone, together = spans.named(f"send {queue}")
    (batch,) = [each for each in spans.named(f"process {queue}") if len(each.links) == 3]
    assert batch.parent is None
    assert seen.contexts[0] == batch.context
    assert same(batch.links[0].context, alone.context)
    assert batch.links[0].attributes == {"messaging.message.id": "m1"}
    assert all(same(link.context, together.context) for link in batch.links[1:])
    assert batch.attributes["messaging.batch.message_count"] == 3
    assert [event.attributes["mqkit.settlement"] for event in batch.events] == ["drop", "retry"]
    assert batch.status.status_code is StatusCode.ERROR
    assert "secret" not in batch.to_json()


@pytest.mark.parametrize("ack", ["before", "manual", "none"])
async def test_every_way_to_ack_has_attempts(
    broker: Any, queue: str, spans: Any, seen: Seen, ack: Any
) -> None:
    app = traced_app(broker.url, spans, queue, "")
    if ack == "manual":

        @app.consumer(queue, ack="manual")
        async def settle(body: bytes, delivery: ManualDelivery) -> None:
            await delivery.ack()
            seen.note()
            raise ValueError

    else:

        @app.consumer(queue, ack=ack)
        async def fail(body: bytes) -> None:
            seen.note()
            raise ValueError

    async with app:
        await app.publish("", queue, b"7")
        await seen.until(1)
    span = spans.one(f"process {queue}")
    assert seen.contexts == [span.context]
    assert same(span.parent, spans.one(f"send {queue}").context)
    assert span.attributes["error.type"] == "ValueError"
    assert "mqkit.settlement" not in span.attributes


async def test_where_order_is_kept_each_attempt_is_a_span(
    broker: Any, queue: str, spans: Any, seen: Seen
) -> None:
    app = traced_app(broker.url, spans, queue)

    @app.consumer(queue, partition_by=lambda delivery: delivery.message_id)
    async def handle(body: bytes) -> None:
        seen.note()
        if len(seen.contexts) == 1:
            raise ValueError

    async with app:
        await app.publish("", queue, b"7")
        await seen.until(2)
    first, second = spans.named(f"process {queue}")
    assert (first.attributes["mqkit.settlement"], second.status.status_code) == (
        "hold",
        StatusCode.UNSET,
    )
    assert [first.attributes["mqkit.attempt"], second.attributes["mqkit.attempt"]] == [1, 2]
    assert seen.contexts == [first.context, second.context]
    assert same(first.parent, second.parent)


async def test_a_call_and_its_handler_are_in_one_trace(broker: Any, queue: str, spans: Any) -> None:
    app = traced_app(broker.url, spans, queue)

    @app.consumer(queue)
    async def double(number: int) -> int:
        return 2 * number

    async with app:
        with spans.tracer.start_as_current_span("request"):
            assert await app.call("", queue, 4, reply=int) == 8
    asked, answered = spans.one(f"call {queue}"), spans.one(f"process {queue}")
    assert asked.parent == spans.one("request").context
    assert same(answered.parent, asked.context)
    assert len(spans.ended) == 3  # the answer is part of the attempt


async def test_queues_of_a_process_share_one_name(broker: Any, spans: Any, seen: Seen) -> None:
    app = App(broker.url)
    otel.instrument(app, tracer_provider=spans.provider, propagator=spans.propagator)
    for _ in range(2):

        @app.consumer(Temporary([("amq.topic", "mqkit.otel.test")]))
        async def handle(delivery: Delivery) -> None:
            seen.note()

    async with app:
        await app.wait_ready()
        await app.publish("amq.topic", "mqkit.otel.test", b"7")
        await seen.until(2)
    first, second = spans.named("process (temporary)")
    for span in (first, second):
        assert same(span.parent, spans.one("send amq.topic").context)
        assert span.attributes["messaging.destination.temporary"] is True
        assert span.attributes["messaging.destination.name"] == "amq.topic:mqkit.otel.test"


@pytest.mark.parametrize("header", ["nonsense", 7, b"\xff\xfe", "00-" + "f" * 70_000])
async def test_a_header_that_is_no_context_begins_a_trace_and_fails_nothing(
    broker: Any, queue: str, spans: Any, seen: Seen, header: object
) -> None:
    sender, app = App(broker.url), traced_app(broker.url, spans, queue)

    @app.consumer(queue)
    async def handle(delivery: Delivery) -> None:
        assert delivery.headers["traceparent"] == header
        seen.note()

    async with app, sender:
        await app.wait_ready()
        headers = {"traceparent": header, "tracestate": "=,,="}
        assert await sender.publish("", queue, b"7", headers=headers)
        await seen.until(1)
    span = spans.one(f"process {queue}")
    assert (span.parent, list(span.links)) == (None, [])
    assert span.status.status_code is StatusCode.UNSET


async def test_an_unsampled_message_stays_so_and_no_attribute_is_made(
    broker: Any, queue: str, spans: Any, seen: Seen
) -> None:
    app = traced_app(broker.url, spans, queue)
    headers: list[object] = []

    @app.consumer(queue)
    async def handle(delivery: Delivery) -> None:
        headers.append(delivery.headers["traceparent"])
        seen.note()
        raise ValueError

    async with app:
        await app.publish("", queue, b"7", headers={"traceparent": UNSAMPLED})
        await seen.until(2)
    assert spans.ended == ()
    assert headers == [UNSAMPLED, UNSAMPLED]
    trace_id = int(UNSAMPLED.split("-")[1], 16)
    assert {context.trace_id for context in seen.contexts} == {trace_id}
    assert not any(context.trace_flags & 1 for context in seen.contexts)
