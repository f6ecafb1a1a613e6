"""Messages that go out of a lot: each has a span, in the trace that it was created in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.trace import SpanKind

from mqkit.errors import ConnectionLost
from mqkit.message import Message, Properties
from mqkit.otel.returning import TracedReturns
from mqkit.otel.sending import SendSpans
from mqkit.otel.tracing import Tracing
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason

pytestmark = pytest.mark.anyio

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
CHANNEL: Any = None


def message(**headers: object) -> Message:
    return Message("", "orders", b"", Properties(headers=headers))


def spans_of(spans: Any) -> SendSpans:
    return SendSpans(Tracing(spans.provider, spans.propagator), lambda: None)


async def test_a_span_lasts_until_its_message_is_confirmed(spans: Any) -> None:
    futures: list[asyncio.Future[Outcome]] = []
    sent: list[Message] = []

    async def publish(channel: Any, messages: Sequence[Message]) -> Any:
        sent.extend(messages)
        futures.extend(asyncio.get_running_loop().create_future() for _ in messages)
        return futures

    given = [message(traceparent=PARENT), message(), message(traceparent=PARENT)]
    outcomes = await TracedReturns(publish, spans_of(spans))(CHANNEL, given)
    assert outcomes is futures
    assert sent[0] is given[0]
    assert "traceparent" in sent[1].properties.headers
    assert spans.ended == ()
    futures[0].set_result(Confirmed())
    futures[1].set_result(Rejected(RejectReason.UNROUTABLE))
    futures[2].cancel()
    await asyncio.wait(futures)
    await asyncio.sleep(0)
    confirmed, rejected, cancelled = spans.ended
    for span in (confirmed, cancelled):
        assert (span.name, span.kind) == ("send orders", SpanKind.CLIENT)
        assert f"{span.parent.trace_id:032x}-{span.parent.span_id:016x}" == f"{TRACE}-{SPAN}"
        assert [link.context for link in span.links] == [span.parent]
    assert (rejected.kind, rejected.parent) == (SpanKind.PRODUCER, None)
    assert confirmed.attributes["mqkit.outcome"] == "confirmed"
    assert rejected.attributes["error.type"] == "unroutable"
    assert cancelled.attributes["error.type"] == "CancelledError"


async def test_where_nothing_could_be_written_all_spans_say_so(spans: Any) -> None:
    async def publish(channel: Any, messages: Sequence[Message]) -> Any:
        raise ConnectionLost("gone")

    with pytest.raises(ConnectionLost):
        await TracedReturns(publish, spans_of(spans))(CHANNEL, [message(), message()])
    assert [span.attributes["error.type"] for span in spans.ended] == ["ConnectionLost"] * 2
