"""Exchange types beyond the four of the specification, alike on both brokers that have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pika
import pytest

Names = Callable[[str], str]


@pytest.fixture
def declare(broker: Any) -> Callable[..., None]:
    """Skips where the broker has no such type: a RabbitMQ without the plugin."""

    def declared(name: str, kind: str, arguments: dict[str, Any] | None = None) -> None:
        with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
            try:
                connection.channel().exchange_declare(name, kind, arguments=arguments)
            except pika.exceptions.ConnectionClosedByBroker as refusal:
                if "unknown exchange type" in refusal.reply_text:
                    pytest.skip(f"this broker has no {kind}")
                raise

    return declared


def queues(channel: Any, unique: Names, count: int) -> list[str]:
    names = [unique(f"q{number}") for number in range(count)]
    for name in names:
        channel.declare_queue(name)
    return names


def counts(channel: Any, names: list[str]) -> list[int]:
    return [channel.declare_queue(name, passive=True)[1] for name in names]


class TestConsistentHash:
    def test_shares_follow_the_weights(
        self, declare: Callable[..., None], open_channel: Callable[[], Any], unique: Names
    ) -> None:
        exchange = unique("x")
        declare(exchange, "x-consistent-hash")
        channel = open_channel()
        light, heavy = queues(channel, unique, 2)
        channel.bind(light, exchange, "1")
        channel.bind(heavy, exchange, "3")
        for number in range(200):
            assert channel.publish(exchange, f"key {number}", b"") == "acked"
        assert sum(counts(channel, [light, heavy])) == 200
        assert 25 <= counts(channel, [light])[0] <= 75

    def test_one_header_is_one_queue(
        self, declare: Callable[..., None], open_channel: Callable[[], Any], unique: Names
    ) -> None:
        exchange = unique("x")
        declare(exchange, "x-consistent-hash", {"hash-header": "id"})
        channel = open_channel()
        names = queues(channel, unique, 3)
        for name in names:
            channel.bind(name, exchange, "1")
        for number in range(10):
            channel.publish(exchange, f"key {number}", b"", headers={"id": "same"})
            channel.publish(exchange, f"key {number}", b"")
        assert all(count % 10 == 0 for count in counts(channel, names))
        assert sum(counts(channel, names)) == 20

    def test_one_queue_for_all_keys_of_a_message(
        self, declare: Callable[..., None], open_channel: Callable[[], Any], unique: Names
    ) -> None:
        exchange = unique("x")
        declare(exchange, "x-consistent-hash")
        channel = open_channel()
        names = queues(channel, unique, 4)
        for name in names:
            channel.bind(name, exchange, "1")
        copies = [f"other {number}" for number in range(20)]
        assert channel.publish(exchange, "key", b"", headers={"CC": copies}) == "acked"
        assert sum(counts(channel, names)) == 1

    @pytest.mark.parametrize(
        ("key", "text"),
        [
            ("abc", 'The binding key must be an integer: <<"abc">>'),
            ("", "The binding key must be an integer: <<>>"),
            ("0", "The binding key must be greater than 0"),
        ],
    )
    def test_keys_that_are_no_weight(
        self,
        broker: Any,
        declare: Callable[..., None],
        open_channel: Callable[[], Any],
        unique: Names,
        key: str,
        text: str,
    ) -> None:
        exchange = unique("x")
        declare(exchange, "x-consistent-hash")
        (name,) = queues(open_channel(), unique, 1)
        with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
            channel = connection.channel()
            with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
                channel.queue_bind(name, exchange, key)
        assert caught.value.reply_code == 406
        assert text in caught.value.reply_text

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (
                {"hash-header": "a", "hash-property": "message_id"},
                "hash-header and hash-property are mutually exclusive",
            ),
            ({"hash-property": "foo"}, "Unsupported property: foo"),
        ],
    )
    def test_arguments_that_it_cannot_have(
        self,
        declare: Callable[..., None],
        unique: Names,
        arguments: dict[str, str],
        text: str,
    ) -> None:
        name = unique("x")
        declare(name, "x-consistent-hash")
        with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
            declare(f"{name}.other", "x-consistent-hash", arguments)
        assert caught.value.reply_code == 406
        assert text in caught.value.reply_text


def test_random_takes_one_queue_for_each_message(
    declare: Callable[..., None], open_channel: Callable[[], Any], unique: Names
) -> None:
    exchange = unique("x")
    declare(exchange, "x-random")
    channel = open_channel()
    names = queues(channel, unique, 2)
    for name in names:
        channel.bind(name, exchange, "any")
    for _ in range(60):
        assert channel.publish(exchange, "", b"") == "acked"
    found = counts(channel, names)
    assert sum(found) == 60
    assert min(found) > 5


def test_delayed_messages_come_in_order_of_their_time(
    declare: Callable[..., None], open_channel: Callable[[], Any], unique: Names
) -> None:
    exchange = unique("x")
    declare(exchange, "x-delayed-message", {"x-delayed-type": "direct"})
    channel = open_channel()
    (name,) = queues(channel, unique, 1)
    channel.bind(name, exchange, "k")
    inbox = channel.consume(name, no_ack=True)
    for body, headers in ((b"3", {"x-delay": 400}), (b"2", {"x-delay": 100}), (b"1", {})):
        channel.publish(exchange, "k", body, headers=headers)
    got = [inbox.next() for _ in range(3)]
    assert [message.body for message in got] == [b"1", b"2", b"3"]
    assert [message.headers.get("x-delay") for message in got] == [None, -100, -400]
    assert Counter(message.exchange for message in got) == {exchange: 3}
