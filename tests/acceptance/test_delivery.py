"""Quorum queues, delivery limits, single active consumers and priorities, alike on both brokers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

Names = Callable[[str], str]
QUORUM = {"x-queue-type": "quorum"}


def refused(name: str, *texts: str) -> Any:
    """The block is refused with this code's name, and these texts in this order."""
    return pytest.raises(Exception, match=".*".join(map(re.escape, (name, *texts))))


def quorum(channel: Any, name: str, **arguments: Any) -> str:
    table = {"x-" + key.replace("_", "-"): value for key, value in arguments.items()}
    channel.declare_queue(name, durable=True, arguments={**QUORUM, **table})
    return name


class TestQuorumQueues:
    def test_publish_consume_ack(self, channel: Any, unique: Names) -> None:
        queue = quorum(channel, unique("q"))
        for number in range(5):
            assert channel.publish("", queue, b"%d" % number, delivery_mode=1) == "acked"
        inbox = channel.consume(queue)
        got = [inbox.next() for _ in range(5)]
        assert [each.body for each in got] == [b"0", b"1", b"2", b"3", b"4"]
        channel.ack(got[-1].tag, multiple=True)
        channel.cancel(inbox)
        assert channel.get(queue) is None

    @pytest.mark.parametrize("how", ["nack", "reject"])
    def test_a_delivery_limit_and_the_counts(self, channel: Any, unique: Names, how: str) -> None:
        dead = unique("dead")
        channel.declare_queue(dead, durable=True)
        queue = quorum(
            channel,
            unique("q"),
            delivery_limit=2,
            dead_letter_exchange="",
            dead_letter_routing_key=dead,
        )
        channel.publish("", queue, b"x")
        inbox = channel.consume(queue)
        counts = []
        for _ in range(3):
            got = inbox.next()
            # RabbitMQ 3 says 0 on the first delivery, where 4 says nothing.
            counts.append((got.redelivered, got.headers.get("x-delivery-count", 0)))
            getattr(channel, how)(got.tag, requeue=True)
        assert counts == [(False, 0), (True, 1), (True, 2)]
        letter = channel.consume(dead).next()
        assert letter.body == b"x"
        (death,) = letter.headers["x-death"]
        assert (death["reason"], death["queue"], death["count"]) == ("delivery_limit", queue, 1)
        assert "x-delivery-count" not in letter.headers

    def test_a_returned_message_goes_to_a_consumer_before_the_length_limit_looks(
        self, channel: Any, unique: Names
    ) -> None:
        queue = quorum(channel, unique("q"), max_length=1)
        inbox = channel.consume(queue)
        first = [self._published_and_taken(channel, queue, inbox, body) for body in (b"0", b"1")]
        channel.nack(first[-1].tag, multiple=True, requeue=True)
        again = [inbox.next() for _ in first]
        assert [(each.body, each.redelivered) for each in again] == [(b"0", True), (b"1", True)]

    @staticmethod
    def _published_and_taken(channel: Any, queue: str, inbox: Any, body: bytes) -> Any:
        channel.publish("", queue, body)
        return inbox.next()

    def test_a_single_active_consumers_messages_can_not_be_got(
        self, channel: Any, unique: Names
    ) -> None:
        queue = quorum(channel, unique("q"), single_active_consumer=True)
        with refused("RESOURCE_LOCKED", queue, "basic.get operations are not supported by quorum"):
            channel.get(queue)

    def test_a_closed_channel_counts(self, open_channel: Any, unique: Names) -> None:
        first, second = open_channel(), open_channel()
        queue = quorum(first, unique("q"))
        first.publish("", queue, b"x")
        assert not first.consume(queue).next().redelivered
        first.close()
        got = second.consume(queue).next()
        assert (got.redelivered, got.headers["x-delivery-count"]) == (True, 1)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"durable": False}, "invalid property 'non-durable' for queue"),
            ({"durable": True, "exclusive": True}, "invalid property 'exclusive-owner' for queue"),
            ({"durable": True, "auto_delete": True}, "invalid property 'auto-delete' for queue"),
        ],
    )
    def test_properties(
        self, channel: Any, unique: Names, options: dict[str, bool], text: str
    ) -> None:
        with refused("PRECONDITION_FAILED", text):
            channel.declare_queue(unique("q"), arguments=QUORUM, **options)

    @pytest.mark.parametrize(
        ("name", "value", "text"),
        [
            ("x-max-priority", 5, "of queue type rabbit_quorum_queue"),
            ("x-queue-mode", "lazy", "of queue type rabbit_quorum_queue"),
            ("x-dead-letter-strategy", "foo", "invalid_dlx_strategy"),
            ("x-quorum-initial-group-size", 0, "{value_zero,0}"),
        ],
    )
    def test_arguments(
        self, channel: Any, unique: Names, name: str, value: object, text: str
    ) -> None:
        with refused("PRECONDITION_FAILED", f"invalid arg '{name}' for queue", text):
            channel.declare_queue(unique("q"), durable=True, arguments={**QUORUM, name: value})

    def test_declared_again(self, open_channel: Any, unique: Names) -> None:
        queue = quorum(open_channel(), unique("q"), delivery_limit=3)
        quorum(open_channel(), queue, delivery_limit=3)
        for other, text in (
            ({}, "inequivalent arg 'x-queue-type'"),
            ({**QUORUM, "x-delivery-limit": 4}, "inequivalent arg 'x-delivery-limit'"),
        ):
            with refused("PRECONDITION_FAILED", text):
                open_channel().declare_queue(queue, durable=True, arguments=other)

    @pytest.mark.parametrize("flag", ["if_unused", "if_empty"])
    def test_no_conditional_deletion(self, connect: Any, unique: Names, flag: str) -> None:
        open_channel = connect()
        queue = quorum(open_channel(), unique("q"))
        with refused("NOT_IMPLEMENTED", f"with {flag.replace('_', '-')} flag set"):
            open_channel().delete_queue(queue, **{flag: True})


class TestConsumers:
    def test_a_single_active_consumer_is_followed_by_the_highest_priority(
        self, open_channel: Any, unique: Names
    ) -> None:
        channel = open_channel()
        queue = unique("q")
        channel.declare_queue(queue, arguments={"x-single-active-consumer": True}, durable=True)
        first = channel.consume(queue)
        old = channel.consume(queue)
        high = channel.consume(queue, arguments={"x-priority": 5})
        channel.publish("", queue, b"1")
        got = first.next()
        channel.ack(got.tag)
        channel.cancel(first)
        channel.publish("", queue, b"2")
        assert high.next().body == b"2"
        assert old.empty()

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"x-priority": "1"}, '"expected integer, got longstr"'),
            ({"x-stream-offset": "first"}, "of queue type rabbit_classic_queue"),
            ({"x-cancel-on-ha-failover": "a"}, "{unacceptable_type,longstr}"),
        ],
    )
    def test_arguments(
        self, channel: Any, unique: Names, arguments: dict[str, Any], text: str
    ) -> None:
        queue = unique("q")
        channel.declare_queue(queue, durable=True)
        (name,) = arguments
        with refused("PRECONDITION_FAILED", f"invalid arg '{name}' for queue '{queue}'", text):
            channel.consume(queue, arguments=arguments)
