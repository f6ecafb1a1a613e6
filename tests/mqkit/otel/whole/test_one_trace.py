"""One trace, from a request to a batch, through outbox, relay, tiers, lot and replay, on both
brokers. It is judged by names, kinds, parents and links of spans alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import SpanContext, SpanKind
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from mqkit import App, Batch, Delivery, otel, outbox
from mqkit.lots import Choice, LotLink
from mqkit.lots.replay import ReplayRequest, replay
from mqkit.topology import loads
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 60.0


@pytest.fixture(params=["sqlite", "psycopg"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'shop.db'}"
    else:
        url = request.getfixturevalue("postgresql_server").url(request.param)
    engine = create_engine(url)
    outbox.metadata.drop_all(engine)
    outbox.metadata.create_all(engine)
    yield engine
    engine.dispose()


class Shop:
    """An app with an exchange, a queue whose handler fails three times, and a queue of batches."""

    def __init__(self, url: str, unique: Callable[[str], str]) -> None:
        self.exchange, self.orders, self.mails = unique("x"), unique("orders"), unique("mails")
        self.lot = f"{self.orders}.parked"
        for name in (self.lot, f"{self.orders}.retry.10", f"{self.orders}.retry.20"):
            unique(name)
        self.app = App(
            url,
            loads(f"""
exchanges: {{{self.exchange}: {{type: topic}}}}
queues:
  {self.orders}:
    bind: [{{from: {self.exchange}, key: order.placed}}]
    retry: {{after: [10ms, 20ms], then: park}}
  {self.mails}: {{}}
"""),
        )
        self.parked, self.mailed = asyncio.Event(), asyncio.Event()
        self.app.consumer(self.orders)(self._order)
        self.app.queue(self.orders).on_park(self._on_park)
        self.app.batch_consumer(self.mails, size=2, within="30s")(self._mail)

    async def _order(self, delivery: Delivery) -> None:
        if not delivery.headers.get("x-mqkit-replays"):
            raise ConnectionError("the bank does not answer")
        await self.app.publish("", self.mails, "paid")

    async def _on_park(self, delivery: Delivery, error: BaseException) -> None:
        self.parked.set()

    async def _mail(self, mails: Batch[bytes]) -> None:
        self.mailed.set()


def place(context: SpanContext | None) -> tuple[int, int] | None:
    """The trace and the span: one that came in a header is "remote", and the same all the same."""
    return None if context is None else (context.trace_id, context.span_id)


def links(span: Any) -> set[tuple[int, int] | None]:
    return {place(link.context) for link in span.links}


async def until_parked(shop: Shop, link: LotLink) -> None:
    """The hook is told before the message is there."""
    await shop.parked.wait()
    async with link.connection("test") as connection:
        channel = await link.channel(connection)
        while not (await link.state(channel, shop.lot)).message_count:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def play(shop: Shop, engine: Engine, url: str, spans: Any) -> None:
    """A request writes a row, and another one publishes; both end in one batch."""
    told = {"tracer_provider": spans.provider, "propagator": spans.propagator}
    otel.instrument(shop.app, **told)
    link = otel.traced(LotLink(parse(url)), **told)
    undo = otel.instrument_outbox(**told)
    try:
        with spans.tracer.start_as_current_span("request"), Session(engine) as session:
            outbox.publish(session, shop.exchange, "order.placed", "7", message_id="order-7")
            session.commit()
    finally:
        undo()
    async with asyncio.timeout(WAIT_S), shop.app, outbox.Relay(shop.app, engine, poll="10ms"):
        await until_parked(shop, link)
        report = await replay(link, ReplayRequest(shop.lot, Choice()))
        assert report.replayed == 1, report
        with spans.tracer.start_as_current_span("other request"):
            await shop.app.publish("", shop.mails, "hello")
        await shop.mailed.wait()


async def test_one_trace_from_a_request_to_a_batch(
    broker: Any, unique: Callable[[str], str], engine: Engine, spans: Any
) -> None:
    shop = Shop(broker.url, unique)
    await play(shop, engine, broker.url, spans)

    request, created = spans.one("request"), spans.one(f"create {shop.exchange}")
    assert created.parent == request.context
    assert created.kind is SpanKind.PRODUCER

    relayed = spans.one(f"send {shop.exchange}")
    replayed = spans.one(f"send {shop.orders}")
    for span in (relayed, replayed):
        assert span.kind is SpanKind.CLIENT
        assert place(span.parent) == place(created.context)
        assert links(span) == {place(created.context)}

    attempts = spans.named(f"process {shop.orders}")
    assert [span.attributes.get("mqkit.settlement") for span in attempts] == [
        "retry",
        "retry",
        "park",
        None,
    ]
    for span in attempts:
        assert span.kind is SpanKind.CONSUMER
        assert place(span.parent) == place(created.context)
        assert links(span) == {place(created.context)}

    paid, hello = spans.named(f"send {shop.mails}")
    assert paid.kind is hello.kind is SpanKind.PRODUCER
    assert paid.parent == attempts[-1].context
    assert hello.parent == spans.one("other request").context

    batch = spans.one(f"process {shop.mails}")
    assert batch.kind is SpanKind.CONSUMER
    assert batch.parent is None
    assert links(batch) == {place(paid.context), place(hello.context)}

    in_trace = {
        span.name for span in spans.ended if span.context.trace_id == created.context.trace_id
    }
    assert in_trace == {
        "request",
        *(f"create {shop.exchange}", f"send {shop.exchange}"),
        *(f"process {shop.orders}", f"send {shop.orders}", f"send {shop.mails}"),
    }
    assert len(spans.ended) == 12
