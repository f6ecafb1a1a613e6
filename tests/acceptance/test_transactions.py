"""Transactions on a channel, as pika and aio-pika use them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import aio_pika
import pika
import pytest

Names = Callable[[str], str]


@pytest.fixture
def rabbit(broker: Any) -> Iterator[Any]:
    """A bare pika connection."""
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    yield connection
    if connection.is_open:
        connection.close()


@pytest.fixture
def queue(rabbit: Any, unique: Names) -> str:
    name = unique("q")
    rabbit.channel().queue_declare(name, durable=True)
    return name


def ready(rabbit: Any, queue: str) -> int:
    with rabbit.channel() as channel:
        return int(channel.queue_declare(queue, passive=True).method.message_count)


def test_a_commit_publishes_in_order_and_a_rollback_nothing(rabbit: Any, queue: str) -> None:
    channel = rabbit.channel()
    channel.tx_select()
    for body in (b"1", b"2"):
        channel.basic_publish("", queue, body, pika.BasicProperties(delivery_mode=2))
    assert ready(rabbit, queue) == 0
    channel.tx_commit()
    channel.basic_publish("", queue, b"3")
    channel.tx_rollback()
    assert ready(rabbit, queue) == 2
    assert [channel.basic_get(queue, auto_ack=True)[2] for _ in range(3)] == [b"1", b"2", None]


def test_a_mandatory_message_whose_queue_went_before_the_commit_is_returned(
    rabbit: Any, queue: str
) -> None:
    channel = rabbit.channel()
    returned: list[bytes] = []
    channel.add_on_return_callback(lambda _channel, _method, _header, body: returned.append(body))
    channel.tx_select()
    channel.basic_publish("", queue, b"1", mandatory=True)
    channel.basic_publish("", queue, b"2")
    channel.queue_delete(queue)
    channel.tx_commit()
    rabbit.process_data_events()
    assert returned == [b"1"]


def test_acks_are_undone_by_a_rollback_and_by_the_end_of_the_channel(
    rabbit: Any, queue: str
) -> None:
    channel = rabbit.channel()
    channel.basic_publish("", queue, b"1")
    channel.tx_select()
    method, _, _ = channel.basic_get(queue)
    channel.basic_ack(method.delivery_tag)
    channel.tx_rollback()
    channel.basic_ack(method.delivery_tag)
    channel.close()
    channel = rabbit.channel()
    channel.tx_select()
    method, _, body = channel.basic_get(queue)
    assert (body, method.redelivered) == (b"1", True)
    channel.basic_ack(method.delivery_tag)
    channel.tx_commit()
    channel.close()
    assert ready(rabbit, queue) == 0


def test_a_requeue_takes_place_at_the_commit(rabbit: Any, queue: str) -> None:
    channel = rabbit.channel()
    channel.basic_publish("", queue, b"1")
    channel.tx_select()
    method, _, _ = channel.basic_get(queue)
    channel.basic_nack(method.delivery_tag, requeue=True)
    assert channel.basic_get(queue)[0] is None
    channel.tx_commit()
    assert channel.basic_get(queue)[0].redelivered


@pytest.mark.parametrize(
    ("operations", "code", "text"),
    [
        (["tx_commit"], 406, "PRECONDITION_FAILED - channel is not transactional"),
        (["tx_rollback"], 406, "PRECONDITION_FAILED - channel is not transactional"),
        (
            ["confirm_delivery", "tx_select"],
            406,
            "PRECONDITION_FAILED - cannot switch from confirm to tx mode",
        ),
        (
            ["tx_select", "confirm_delivery"],
            406,
            "PRECONDITION_FAILED - cannot switch from tx to confirm mode",
        ),
    ],
)
def test_what_is_refused(rabbit: Any, operations: list[str], code: int, text: str) -> None:
    channel = rabbit.channel()
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as closed:
        for operation in operations:
            getattr(channel, operation)()
    assert (closed.value.reply_code, closed.value.reply_text) == (code, text)


def test_a_full_queue_makes_it_a_partial_completion(rabbit: Any, unique: Names) -> None:
    name = unique("full")
    channel = rabbit.channel()
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    channel.queue_declare(name, arguments=arguments)
    channel.tx_select()
    channel.basic_publish("", name, b"1")
    channel.tx_commit()
    channel.basic_publish("", name, b"2")
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as closed:
        channel.tx_commit()
    assert closed.value.reply_text == "PRECONDITION_FAILED - partial tx completion"
    assert ready(rabbit, name) == 1


def test_aio_pikas_transactions(broker: Any, rabbit: Any, queue: str) -> None:
    async def publish(*, fail: bool) -> None:
        async with (
            await aio_pika.connect(broker.url) as connection,
            await connection.channel(publisher_confirms=False) as channel,
            channel.transaction(),
        ):
            await channel.default_exchange.publish(aio_pika.Message(b"x"), queue)
            assert not fail

    asyncio.run(publish(fail=False))
    assert ready(rabbit, queue) == 1
    with pytest.raises(AssertionError):
        asyncio.run(publish(fail=True))
    assert ready(rabbit, queue) == 1
