"""mqkit_spark.source.batch.queue: each message once, in order, and its fate, on both brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.message import Message
from mqkit.transport.blocking import BlockingChannel, BlockingConnection
from mqkit_spark.connecting import connect_exact
from mqkit_spark.options import AckMode, BatchReadOptions, Until
from mqkit_spark.options.connection import ConnectionOptions
from mqkit_spark.source.batch.queue import Clock, check, windows

Options = Callable[..., BatchReadOptions]


@pytest.fixture
def connection(broker_url: str) -> Iterator[BlockingConnection]:
    found = connect_exact(ConnectionOptions(url=broker_url), name="test")
    yield found
    found.close()


@pytest.fixture
def options(broker_url: str, target: Any) -> Options:
    def made(**values: Any) -> BatchReadOptions:
        return BatchReadOptions(url=broker_url, queue=target.name, **values)

    return made


def publish(connection: BlockingConnection, queue: str, numbers: range) -> None:
    channel = connection.channel(confirms=True)
    outcomes = channel.publish_many([Message("", queue, b"%d" % n) for n in numbers])
    assert all(outcome.result(20) for outcome in outcomes)


def read(channel: BlockingChannel, options: BatchReadOptions) -> list[int]:
    return [int(each.body) for window in windows(channel, options) for each in window]


def test_a_peek_gives_all_back_in_order_and_marked(
    connection: BlockingConnection, options: Options, target: Any
) -> None:
    publish(connection, target.name, range(2_000))
    channel = connection.channel()
    for _ in range(2):
        assert read(channel, options()) == list(range(2_000))
    assert target.get_all() == [(b"%d" % n, True) for n in range(2_000)]


def test_while_it_lasts_the_broker_holds_what_was_read(
    connection: BlockingConnection, options: Options, target: Any
) -> None:
    publish(connection, target.name, range(100))
    found = windows(connection.channel(), options())
    seen = len(next(found))
    assert 0 < seen < 100
    assert target.count() == 100 - seen
    found.close()
    assert target.get_all() == [(b"%d" % n, n < seen) for n in range(100)]


def test_the_number_of_messages_is_bounded(
    connection: BlockingConnection, options: Options, target: Any
) -> None:
    publish(connection, target.name, range(100))
    channel = connection.channel()
    assert read(channel, options(max_messages=33)) == list(range(33))
    assert read(channel, options(max_messages=100)) == list(range(100))
    assert read(channel, options(max_messages=101)) == list(range(100))


def test_an_empty_queue_is_no_messages(connection: BlockingConnection, options: Options) -> None:
    for mode in AckMode:
        assert read(connection.channel(), options(ack_mode=mode)) == []


def test_on_read_they_have_left_before_they_are_given(
    connection: BlockingConnection, options: Options, target: Any
) -> None:
    publish(connection, target.name, range(100))
    with closing(windows(connection.channel(), options(ack_mode=AckMode.ON_READ))) as found:
        seen = len(next(found))
        # The window's connection is gone at once, as if the worker had been killed here.
        connection.close()
    assert 0 < seen < 100
    assert target.get_all() == [(b"%d" % n, False) for n in range(seen, 100)]


@dataclass
class Hand:
    """A clock moved by its pauses; messages come while it pauses."""

    connection: BlockingConnection
    queue: str
    time_s: float = 1_000.0
    pauses: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time_s

    def pause(self, seconds: float) -> None:
        self.time_s += seconds
        self.pauses.append(seconds)
        number = len(self.pauses)
        publish(self.connection, self.queue, range(number, number + 1))


def test_until_the_timeout_later_messages_are_read_too(
    connection: BlockingConnection, options: Options, target: Any
) -> None:
    publish(connection, target.name, range(1))
    hand = Hand(connection, target.name)
    until = options(until=Until.TIMEOUT, timeout_s=0.6)
    found = windows(connection.channel(), until, Clock(hand.now, hand.pause))
    assert [int(each.body) for window in found for each in window] == [0, 1, 2, 3]
    assert hand.pauses == pytest.approx([0.25, 0.25, 0.1])
    hand = Hand(connection, target.name)
    until = options(until=Until.TIMEOUT, timeout_s=600, max_messages=6)
    found = windows(connection.channel(), until, Clock(hand.now, hand.pause))
    assert len([each for window in found for each in window]) == 6
    assert len(hand.pauses) == 2, "it ends with its last message, whatever the time"


def test_a_queue_that_cannot_be_read_is_found_out_before(
    connection: BlockingConnection, broker_url: str, target: Any
) -> None:
    check(connection.channel(), target.name)
    with pytest.raises(ChannelError, match="404"):
        check(connection.channel(), "test-no-such-queue")
    other = connect_exact(ConnectionOptions(url=broker_url), name="test")
    exclusive = other.channel().declare_queue(Queue("", exclusive=True)).name
    with pytest.raises(ChannelError, match="405"):
        check(connection.channel(), exclusive)
    other.close()
