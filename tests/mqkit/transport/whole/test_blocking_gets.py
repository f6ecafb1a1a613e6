"""``get_many`` of both blocking adapters, on both brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.message import Message
from mqkit.transport.blocking import BlockingChannel
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.url import parse


@pytest.fixture(params=BlockingChoice)
def channel(request: pytest.FixtureRequest, broker: Any) -> Iterator[BlockingChannel]:
    transport = request.param.transport()
    connection = transport.connect(parse(broker.url), name="test_blocking_gets", timeout_s=20)
    yield connection.channel(confirms=True)
    connection.close()


def test_many_gets_keep_the_order_and_end_where_the_queue_is_empty(
    channel: BlockingChannel,
) -> None:
    name = channel.declare_queue(Queue("", exclusive=True)).name
    messages = [Message("", name, b"%d" % n) for n in range(700)]
    assert all(outcome.result(20) for outcome in channel.publish_many(messages))
    first, rest = channel.get_many(name, 500), channel.get_many(name, 500)
    assert [int(each.body) for each in first + rest] == list(range(700))
    assert [each.delivery_tag for each in first + rest] == list(range(1, 701))
    assert channel.get_many(name, 5) == []
    channel.nack(0, multiple=True, requeue=True)
    (again,) = channel.get_many(name, 1)
    assert (again.body, again.redelivered) == (b"0", True)


def test_a_queue_that_is_not_there_fails_all_of_them(channel: BlockingChannel) -> None:
    with pytest.raises(ChannelError, match="404"):
        channel.get_many("test-no-such-queue", 50)
    assert not channel.is_open
