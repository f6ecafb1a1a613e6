"""A queue as a test looks at it."""

from __future__ import annotations

from collections.abc import Iterator

import pika
import pytest

import mqkit
from mqkit.testing import Broker, reference_broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with reference_broker() as broker:
        yield broker


def publish(broker: Broker, *bodies: bytes) -> None:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare("q")
        for body in bodies:
            channel.basic_publish("", "q", body, pika.BasicProperties(message_id=body.decode()))


def test_one_takes_the_message_out(broker: Broker) -> None:
    publish(broker, b"a")
    queue = broker.queue("q").blocking
    assert queue.depth == 1
    assert queue.one().message_id == "a"
    assert (queue.depth, queue.all()) == (0, [])


def test_two_are_not_one(broker: Broker) -> None:
    publish(broker, b"a", b"b")
    with pytest.raises(AssertionError) as told:
        broker.queue("q").blocking.one()
    assert str(told.value) == (
        "'q' had 2 messages where 1 should be:\n  '' 'q', id a, b'a'\n  '' 'q', id b, b'b'"
    )


@pytest.mark.parametrize("is_there", [True, False])
def test_none_is_not_one(broker: Broker, is_there: bool) -> None:
    if is_there:
        publish(broker)
    with pytest.raises(AssertionError, match=r"'q' had no message where 1 should be$"):
        broker.queue("q").blocking.one(within=0)


def test_the_depth_of_a_queue_that_is_not_there(broker: Broker) -> None:
    with pytest.raises(mqkit.ChannelError):
        broker.queue("q").blocking.depth  # noqa: B018
    publish(broker, b"a")
    assert broker.queue("q").blocking.depth == 1


@pytest.mark.anyio
async def test_the_same_for_a_coroutine(broker: Broker) -> None:
    publish(broker, b"a", b"b", b"c", b"d")
    queue = broker.queue("q")
    assert await queue.depth() == 4
    assert len(await queue.take(4)) == 4
    publish(broker, b"e")
    assert (await queue.one()).body == b"e"
    assert await queue.all() == []
