"""Spans of what goes out of a lot by the clock. (By the commands:
`tests/mqkit_cli/test_tracing.py`.)"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pika
import pytest
from opentelemetry.trace import SpanKind

from mqkit import otel
from mqkit.lots import Lots
from mqkit.retry.headers import PARKED_AT, QUEUE
from mqkit.topology import loads
from mqkit.url import parse

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def queue(broker: Any, unique: Callable[[str], str]) -> str:
    """A queue, and its lot with one message that was parked long ago."""
    name, lot = unique("orders"), unique("orders.parked")
    headers = {
        "traceparent": f"00-{TRACE}-{SPAN}-01",
        PARKED_AT: (datetime.now(UTC) - timedelta(hours=2)).isoformat(),
        QUEUE: name,
    }
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        for each in (name, lot):
            channel.queue_declare(each, durable=True)
        channel.confirm_delivery()
        channel.basic_publish("", lot, b"7", pika.BasicProperties(headers=headers))
    return name


@pytest.mark.anyio
async def test_a_replay_by_the_clock_is_in_the_trace_of_its_message(
    broker: Any, queue: str, spans: Any
) -> None:
    endpoint = parse(broker.url)
    text = (
        f"queues: {{{queue}: {{retry: {{after: [10ms]}}}}}}\n"
        f"lots: {{{queue}.parked: {{replay: {{every: 1h, at_most: 3}}}}}}"
    )
    lots = Lots(loads(text), endpoints=[endpoint])
    otel.instrument(lots, tracer_provider=spans.provider, propagator=spans.propagator)
    await lots.once()
    (span,) = spans.ended
    assert (span.name, span.kind) == (f"send {queue}", SpanKind.CLIENT)
    assert f"{span.parent.trace_id:032x} {span.parent.span_id:016x}" == f"{TRACE} {SPAN}"
    assert span.attributes["mqkit.outcome"] == "confirmed"
    assert span.attributes["server.port"] == endpoint.port
