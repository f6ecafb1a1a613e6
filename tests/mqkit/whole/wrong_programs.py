"""Programs that type checkers must refuse: each function is one, and is wrong in the lines that
say so."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from pydantic import BaseModel

import mqkit
from mqkit import App, Batch, Confirmed, Delivery, ManualDelivery, Rejected


class Paid(BaseModel):
    cents: int


class Cancelled(BaseModel):
    why: str


class Quote(BaseModel):
    cents: int


app = App("amqp://127.0.0.1/")


def w01_three_arguments() -> None:
    @app.consumer("q")  # wrong
    async def handle(order: Paid, delivery: Delivery, session: object) -> None: ...


def w02_no_argument() -> None:
    @app.consumer("q")  # wrong
    async def handle() -> None: ...


def w03_an_argument_by_keyword() -> None:
    @app.consumer("q")  # wrong
    async def handle(order: Paid, *, delivery: Delivery) -> None: ...


def w04_the_second_argument_is_no_delivery() -> None:
    @app.consumer("q")  # wrong
    async def handle(order: Paid, times: int) -> None: ...


def w05_no_function() -> None:
    app.consumer("q")("handle")  # wrong


def w06_a_batch_handler_without_batch() -> None:
    @app.batch_consumer("q", size=10)  # wrong
    async def store(rows: list[Paid]) -> None: ...


def w07_a_batch_handler_with_two_arguments() -> None:
    @app.batch_consumer("q", size=10)  # wrong
    async def store(rows: Batch[Paid], delivery: Delivery) -> None: ...


def w08_a_batch_without_size() -> None:
    app.batch_consumer("q")  # wrong


def w09_a_time_in_words() -> None:
    app.consumer("q", timeout="soon")  # wrong


def w10_a_time_without_unit() -> None:
    app.consumer("q", timeout="30")  # wrong


async def w11_a_deadline_in_words() -> None:
    await app.publish("", "q", b"", deadline="later")  # wrong


def w12_a_retry_in_words() -> None:
    raise mqkit.RetryLater(after="a while")  # wrong


def w13_a_number_as_queue() -> None:
    app.consumer(7)  # wrong


def w14_the_function_as_queue() -> None:
    @app.consumer  # wrong
    async def handle(order: Paid) -> None: ...


def w15_concurrency_as_text() -> None:
    app.consumer("q", concurrency="8")  # wrong


def w16_an_ack_mode_that_there_is_not() -> None:
    app.consumer("q", ack="never")  # wrong


def w17_a_priority_as_text() -> None:
    app.consumer("q", priority="high")  # wrong


async def w18_an_outcome_that_is_forgotten() -> None:
    outcome = await app.publish("", "q", b"")
    match outcome:
        case Confirmed():
            pass
        case Rejected():
            pass
        case _:
            assert_never(outcome)  # wrong


async def w19_an_outcome_taken_for_confirmed() -> None:
    outcome: Confirmed = await app.publish("", "q", b"")  # wrong
    print(outcome)


async def w20_a_property_that_there_is_not() -> None:
    await app.publish("", "q", b"", prio=5)  # wrong


async def w21_a_priority_that_is_no_number() -> None:
    await app.publish("", "q", b"", priority="5")  # wrong


async def w22_a_timestamp_that_is_a_number() -> None:
    await app.publish("", "q", b"", timestamp=1_700_000_000)  # wrong


async def w23_a_correlation_id_that_is_a_number() -> None:
    await app.publish("", "q", b"", correlation_id=7)  # wrong


async def w24_an_expiration_in_words() -> None:
    await app.publish("", "q", b"", expiration="tomorrow")  # wrong


async def w25_a_flag_as_text() -> None:
    await app.publish("", "q", b"", mandatory="no")  # wrong


async def w26_terms_that_there_are_not() -> None:
    await app.publish("", "q", b"", on_blocked="raise")  # wrong


async def w27_a_target_of_another_model() -> None:
    orders = app.to("orders", "order.paid", model=Paid)
    await orders.publish(Cancelled(why="late"))  # wrong


async def w28_a_dict_for_a_model() -> None:
    orders = app.to("orders", "order.paid", model=Paid)
    await orders.publish({"cents": 1})  # wrong


def w29_a_message_of_another_model() -> None:
    app.to("orders", "order.paid", model=Paid).message(Cancelled(why="late"))  # wrong


async def w30_a_body_for_a_message() -> None:
    await app.send(b"body")  # wrong


async def w31_a_call_without_reply() -> None:
    await app.call("", "q", b"")  # wrong


async def w32_an_answer_of_another_type() -> None:
    answer: str = await app.call("", "q", b"", reply=Quote)  # wrong
    print(answer)


def w33_a_field_that_the_model_has_not() -> None:
    @app.consumer("q")
    async def handle(order: Paid) -> None:
        print(order.euros)  # wrong


def w34_a_header_used_unseen() -> None:
    @app.consumer("q")
    async def handle(delivery: Delivery) -> None:
        print(delivery.headers["tenant"].upper())  # wrong


def w35_an_answer_by_the_wrong_handler() -> None:
    orders = app.queue("orders")

    @orders.on(Paid)  # wrong
    async def cancelled(order: Cancelled) -> None: ...


def w36_a_typed_handler_of_three_arguments() -> None:
    orders = app.queue("orders")

    @orders.on(Paid)  # wrong
    async def paid(order: Paid, delivery: Delivery, more: int) -> None: ...


def w37_a_hook_of_one_argument() -> None:
    orders = app.queue("orders")

    @orders.on_park  # wrong
    async def failed(delivery: Delivery) -> None: ...


def w38_an_attempt_as_text() -> None:
    @app.consumer("q", ack="manual")
    async def handle(delivery: ManualDelivery) -> None:
        attempt: str = delivery.attempt  # wrong
        print(attempt)


def w39_an_entry_that_fails_with_text() -> None:
    @app.batch_consumer("q", size=10)
    async def store(rows: Batch[Paid]) -> None:
        rows.entries[0].fail("no")  # wrong


def w40_a_binding_without_key() -> None:
    mqkit.Temporary(bind=["events"])  # wrong


def when(moment: datetime) -> None:
    """Types that programs name."""
