"""Programs that type checkers must take: each function is one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import assert_never, assert_type

from pydantic import BaseModel

import mqkit
from mqkit import App, Batch, Confirmed, Delivery, ManualDelivery, Outcome, Rejected, Unknown


class Paid(BaseModel):
    cents: int


class Cancelled(BaseModel):
    why: str


class Quote(BaseModel):
    cents: int


app = App("amqp://127.0.0.1/")


def p01_a_model() -> None:
    @app.consumer("q")
    async def handle(order: Paid) -> None: ...


def p02_a_model_and_its_delivery() -> None:
    @app.consumer("q")
    async def handle(order: Paid, delivery: Delivery) -> None: ...


def p03_bytes_in_a_thread() -> None:
    @app.consumer("q")
    def handle(body: bytes) -> None: ...


def p04_a_list() -> None:
    @app.consumer("q", concurrency=8, prefetch=80)
    async def handle(orders: list[Paid]) -> None: ...


def p05_a_delivery_alone() -> None:
    @app.consumer("q")
    async def handle(delivery: Delivery) -> None: ...


def p06_an_answer() -> None:
    @app.consumer("q")
    async def handle(order: Paid) -> Quote:
        return Quote(cents=order.cents)


def p07_a_default() -> None:
    @app.consumer("q")
    async def handle(order: Paid, times: int = 1) -> None: ...


def p08_a_bound_method() -> None:
    class Desk:
        async def handle(self, order: Paid) -> None: ...

    app.consumer("q")(Desk().handle)


def p09_it_stays_as_it_is() -> None:
    @app.consumer("q")
    def handle(order: Paid) -> int:
        return order.cents

    assert_type(handle(Paid(cents=1)), int)


def p10_a_manual_delivery() -> None:
    @app.consumer("q", ack="manual")
    async def handle(order: Paid, delivery: ManualDelivery) -> None:
        await delivery.park("bad")


def p11_an_ack_before() -> None:
    @app.consumer("q", ack="before")
    async def handle(order: Paid) -> None: ...


def p12_a_batch_of_models() -> None:
    @app.batch_consumer("q", size=10)
    async def store(rows: Batch[Paid]) -> None:
        for row in rows:
            assert_type(row, Paid)


def p13_a_batch_of_deliveries() -> None:
    @app.batch_consumer("q", size=10, within=0.5, max_bytes=1_000_000)
    async def store(rows: Batch[Delivery]) -> None:
        for row in rows:
            rows.retry(row, after="5s")


def p14_a_batch_by_place() -> None:
    @app.batch_consumer("q", size=10, concurrency=2)
    async def store(rows: Batch[Paid]) -> None:
        for entry in rows.entries:
            assert_type(entry.value, Paid)
            assert_type(entry.delivery, Delivery)
            entry.fail(ValueError("no"))


def p15_a_temporary_queue() -> None:
    @app.consumer(mqkit.Temporary(bind=[("events", "cache.*")]))
    async def forget(delivery: Delivery) -> None: ...


def p16_consume_arguments() -> None:
    @app.consumer("q", priority=10, exclusive=True, arguments={"x-consumer-timeout": 60_000})
    async def handle(order: Paid) -> None: ...


def p17_handlers_by_type() -> None:
    orders = app.queue("orders", concurrency=8, by="kind")

    @orders.on(Paid)
    async def paid(order: Paid) -> None: ...

    @orders.on(Cancelled, name="order.cancelled")
    async def cancelled(order: Cancelled, delivery: Delivery) -> None: ...


def p18_hooks() -> None:
    orders = app.queue("orders")

    @orders.on_retry
    async def again(delivery: Delivery, error: BaseException) -> None: ...

    @orders.on_park
    def failed(delivery: Delivery, error: BaseException) -> None: ...


async def p19_pausing() -> None:
    orders = app.queue("orders")
    await orders.pause()
    assert_type(orders.is_paused, bool)
    await orders.resume()


async def p20_publishing() -> None:
    outcome = await app.publish("orders", "order.paid", Paid(cents=1))
    assert_type(outcome, Confirmed | Rejected | Unknown)


async def p21_every_property() -> None:
    await app.publish(
        "orders",
        "order.paid",
        {"cents": 1},
        message_id="m",
        headers={"a": 1, "b": [True]},
        priority=5,
        expiration="10m",
        correlation_id="c",
        reply_to="r",
        type="t",
        timestamp=datetime.now(UTC),
        app_id="a",
        persistent=False,
        mandatory=False,
        idempotency_key="k",
    )


async def p22_terms() -> None:
    await app.publish("", "q", b"", deadline=2.5, resend=False, on_blocked="fail")


async def p23_a_ready_message() -> None:
    message = app.message("orders", "order.paid", "text", priority=1)
    assert_type(message, mqkit.Message)
    await app.send(message, deadline=timedelta(seconds=3))


async def p24_a_batch_to_publish() -> None:
    messages = [app.message("", "q", number) for number in range(10)]
    outcomes = await app.publish_batch(messages, deadline="30s")
    assert_type(outcomes, list[Outcome])


async def p25_a_target() -> None:
    orders = app.to("orders", "order.paid", model=Paid)
    await orders.publish(Paid(cents=1), priority=3)


async def p26_a_target_of_anything() -> None:
    await app.to("orders", "order.paid").publish({"any": "thing"})


async def p27_a_targets_message() -> None:
    orders = app.to("orders", "order.paid", model=Paid, name="paid")
    await app.publish_batch([orders.message(Paid(cents=1))])


async def p28_a_subclass_goes_to_a_target() -> None:
    class PaidTwice(Paid):
        pass

    await app.to("orders", "order.paid", model=Paid).publish(PaidTwice(cents=1))


async def p29_a_call() -> None:
    answer = await app.call("prices", "quote", Paid(cents=1), reply=Quote, deadline="2s")
    assert_type(answer, Quote)


async def p30_a_call_for_a_list() -> None:
    assert_type(await app.call("", "q", b"", reply=list[int]), list[int])


async def p31_all_outcomes_matched() -> None:
    outcome = await app.publish("", "q", b"")
    match outcome:
        case Confirmed(message_id):
            print(message_id)
        case Rejected(reason, detail):
            print(reason, detail)
        case Unknown(detail):
            print(detail)
        case _:
            assert_never(outcome)


async def p32_an_outcome_is_true_or_not() -> None:
    if not await app.publish("", "q", b""):
        raise SystemExit(1)


def p33_times() -> None:
    for timeout in (5, 0.5, timedelta(minutes=1), mqkit.duration("1m15s")):
        app.consumer("q", timeout=timeout)


def p34_signals() -> None:
    @app.consumer("q")
    async def handle(order: Paid) -> None:
        if order.cents < 0:
            raise mqkit.Park("negative")
        if not order.cents:
            raise mqkit.Drop
        raise mqkit.RetryLater(after="30s")


def p35_headers_are_narrowed() -> None:
    @app.consumer("q")
    async def handle(delivery: Delivery) -> None:
        tenant = delivery.headers.get("tenant")
        if isinstance(tenant, str):
            print(tenant.upper())


def p36_attempts() -> None:
    @app.consumer("q")
    async def handle(order: Paid, delivery: Delivery) -> None:
        if delivery.is_last_attempt:
            assert_type(delivery.attempt, int)
            assert_type(delivery.attempts_left, int | None)
            assert_type(delivery.first_failure, datetime | None)


async def p37_a_delay() -> None:
    await app.publish("orders", "order.paid", b"", delay="5m")


def p38_a_policy() -> None:
    mqkit.RetryPolicy.of("1s", "5s", errors={TimeoutError: ["1s"], "InvalidAddress": "park"})
    mqkit.RetryPolicy.growing("1s", factor=2, most="5m", times=8, jitter=0.2)


async def p39_a_script() -> None:
    async with App(["amqp://a/", "amqp://b/"], topology="topology.yaml") as running:
        await running.wait_ready("10s")
        assert_type(running.stats.acked, int)
        assert_type(running.metrics.connection.connects, int)
        assert_type(running.health().is_ready, bool)

        @running.observe
        async def told(event: mqkit.Event) -> None:
            match event:
                case mqkit.ConnectionChanged() | mqkit.ConsumerChanged() | mqkit.CircuitChanged():
                    print(event.after, event.why)
                case mqkit.TopologyDeclared():
                    print(event.declared, [refused.name for refused in event.refused])
                case _:
                    assert_never(event)


def p40_settings() -> None:
    settings = mqkit.Settings.load(heartbeat_s=10)
    App(settings=settings, drain_timeout="1m30s", transport="aio-pika").run()


def publish_all(messages: Sequence[mqkit.Message]) -> None:
    """Types that programs name."""
