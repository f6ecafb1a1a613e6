"""Exchanges, queues, publishing, consuming, settling: what clients of either broker rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Names = Callable[[str], str]


def drain(channel: Any, queue: str) -> list[bytes]:
    """Take everything that is ready, in order."""
    bodies = []
    while (got := channel.get(queue, no_ack=True)) is not None:
        bodies.append(got.body)
    return bodies


def queue_of(channel: Any, name: str, **options: Any) -> str:
    channel.declare_queue(name, durable=True, **options)
    return name


class TestExchanges:
    def test_default_routes_by_queue_name(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        assert channel.publish("", queue, b"1") == "acked"
        got = channel.get(queue, no_ack=True)
        assert (got.body, got.exchange, got.routing_key) == (b"1", "", queue)

    def test_direct(self, channel: Any, unique: Names) -> None:
        exchange, queue = unique("x"), queue_of(channel, unique("q"))
        channel.declare_exchange(exchange, "direct", durable=True)
        channel.bind(queue, exchange, "a")
        assert channel.publish(exchange, "a", b"yes") == "acked"
        assert channel.publish(exchange, "b", b"no") == "returned"
        assert drain(channel, queue) == [b"yes"]

    @pytest.mark.parametrize(
        ("pattern", "key", "matches"),
        [
            ("*.late", "DTW.late", True),
            ("*.late", "late", False),
            ("#", "any.thing.at.all", True),
            ("#", "", True),
            ("a.#", "a", True),
            ("a.#.b", "a.b", True),
            ("a.#.b", "a.x.y.b", True),
            ("a.*.#", "a", False),
            ("#.#.b", "b", True),
            ("a.*.b", "a..b", True),
        ],
    )
    def test_topic(
        self, channel: Any, unique: Names, pattern: str, key: str, matches: bool
    ) -> None:
        exchange, queue = unique("x"), queue_of(channel, unique("q"))
        channel.declare_exchange(exchange, "topic", durable=True)
        channel.bind(queue, exchange, pattern)
        assert channel.publish(exchange, key, b"1") == ("acked" if matches else "returned")

    def test_fanout_ignores_the_key_and_copies_once(self, channel: Any, unique: Names) -> None:
        exchange = unique("x")
        first, second = queue_of(channel, unique("q1")), queue_of(channel, unique("q2"))
        channel.declare_exchange(exchange, "fanout", durable=True)
        for key in ("", "k"):
            channel.bind(first, exchange, key)
            channel.bind(second, exchange, key)
        assert channel.publish(exchange, "whatever", b"1") == "acked"
        assert drain(channel, first) == drain(channel, second) == [b"1"]

    @pytest.mark.parametrize(
        ("arguments", "headers", "matches"),
        [
            ({"x-match": "all", "a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 0}, True),
            ({"x-match": "all", "a": 1, "b": "x"}, {"a": 1}, False),
            ({"x-match": "any", "a": 1, "b": "x"}, {"a": 1}, True),
            ({"x-match": "any", "a": 1}, {"a": 2}, False),
            ({"a": 1}, {"a": 1}, True),
        ],
    )
    def test_headers(
        self, channel: Any, unique: Names, arguments: Any, headers: Any, matches: bool
    ) -> None:
        exchange, queue = unique("x"), queue_of(channel, unique("q"))
        channel.declare_exchange(exchange, "headers", durable=True)
        channel.bind(queue, exchange, "", arguments)
        answer = channel.publish(exchange, "", b"1", headers=headers)
        assert answer == ("acked" if matches else "returned")

    def test_alternate_exchange_takes_what_is_unroutable(self, channel: Any, unique: Names) -> None:
        exchange, alternate = unique("x"), unique("alternate")
        queue = queue_of(channel, unique("q"))
        channel.declare_exchange(alternate, "fanout", durable=True)
        channel.declare_exchange(
            exchange, "direct", durable=True, arguments={"alternate-exchange": alternate}
        )
        channel.bind(queue, alternate)
        assert channel.publish(exchange, "nobody", b"1") == "acked"
        assert drain(channel, queue) == [b"1"]

    def test_alternate_exchange_takes_nothing_of_which_one_key_fits(
        self, channel: Any, unique: Names
    ) -> None:
        exchange, alternate = unique("x"), unique("alternate")
        queue, lost = queue_of(channel, unique("q")), queue_of(channel, unique("lost"))
        channel.declare_exchange(alternate, "fanout", durable=True)
        channel.declare_exchange(
            exchange, "direct", durable=True, arguments={"alternate-exchange": alternate}
        )
        channel.bind(queue, exchange, "k")
        channel.bind(lost, alternate)
        assert channel.publish(exchange, "k", b"1", headers={"CC": ["nobody"]}) == "acked"
        assert channel.publish(exchange, "nobody", b"2", headers={"CC": ["k"]}) == "acked"
        assert drain(channel, queue) == [b"1", b"2"]
        assert channel.publish(exchange, "nobody", b"3", headers={"CC": ["neither"]}) == "acked"
        assert drain(channel, lost) == [b"3"]

    def test_exchange_to_exchange_with_a_cycle_delivers_once(
        self, channel: Any, unique: Names
    ) -> None:
        first, second, queue = unique("x1"), unique("x2"), queue_of(channel, unique("q"))
        for name in (first, second):
            channel.declare_exchange(name, "fanout", durable=True)
        channel.bind_exchange(second, first)
        channel.bind_exchange(first, second)
        channel.bind(queue, second)
        channel.bind(queue, first)
        assert channel.publish(first, "", b"1") == "acked"
        assert drain(channel, queue) == [b"1"]

    def test_cc_and_bcc_add_keys_and_bcc_is_not_seen(self, channel: Any, unique: Names) -> None:
        queues = [queue_of(channel, unique(name)) for name in ("to", "cc", "bcc")]
        headers = {"CC": [queues[1], queues[0]], "BCC": [queues[2]], "mine": "kept"}
        assert channel.publish("", queues[0], b"1", headers=headers) == "acked"
        for queue in queues:
            got = channel.get(queue, no_ack=True)
            assert (got.body, got.routing_key) == (b"1", queues[0])
            assert got.headers == {"CC": [queues[1], queues[0]], "mine": "kept"}
            assert channel.get(queue) is None

    def test_cc_keys_count_at_every_exchange_on_the_way(self, channel: Any, unique: Names) -> None:
        first, second, others = unique("x1"), unique("x2"), unique("x3")
        queue, unwanted = queue_of(channel, unique("q")), queue_of(channel, unique("unwanted"))
        channel.declare_exchange(others, "fanout")
        channel.declare_exchange(first, "direct", arguments={"alternate-exchange": others})
        channel.declare_exchange(second, "topic")
        channel.bind_exchange(second, first, "one")
        channel.bind(queue, second, "two")
        channel.bind(unwanted, others)
        headers = {"CC": ["one"], "BCC": ["two"]}
        assert channel.publish(first, "", b"1", headers=headers) == "acked"
        assert channel.get(queue, no_ack=True).headers == {"CC": ["one"]}
        assert channel.get(unwanted) is None

    def test_unbound_is_unroutable_again(self, channel: Any, unique: Names) -> None:
        exchange, queue = unique("x"), queue_of(channel, unique("q"))
        channel.declare_exchange(exchange, "direct", durable=True)
        channel.bind(queue, exchange, "a")
        channel.unbind(queue, exchange, "a")
        assert channel.publish(exchange, "a", b"1") == "returned"


class TestQueues:
    def test_server_named(self, channel: Any) -> None:
        # aio-pika names anonymous queues itself, so only the round trip is common ground.
        name, ready, consumers = channel.declare_queue("", exclusive=True)
        assert name
        assert (ready, consumers) == (0, 0)
        assert channel.publish("", name, b"1") == "acked"

    def test_declare_tells_the_counts(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        channel.publish("", queue, b"1")
        assert channel.declare_queue(queue, durable=True) == (queue, 1, 0)

    def test_exclusive_dies_with_its_connection(
        self, connect: Any, unique: Names, channel: Any
    ) -> None:
        other = connect()()
        queue = unique("q")
        other.declare_queue(queue, exclusive=True)
        with pytest.raises(Exception, match="RESOURCE_LOCKED"):
            channel.declare_queue(queue, passive=True)

    def test_auto_delete_goes_with_its_last_consumer(
        self, open_channel: Any, unique: Names
    ) -> None:
        channel, queue = open_channel(), unique("q")
        channel.declare_queue(queue, auto_delete=True)
        inbox = channel.consume(queue)
        channel.cancel(inbox)
        with pytest.raises(Exception, match="NOT_FOUND"):
            channel.declare_queue(queue, passive=True)

    def test_purge_counts_ready_messages_only(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        for number in range(3):
            channel.publish("", queue, b"%d" % number)
        assert channel.get(queue) is not None
        assert channel.purge(queue) == 2

    def test_delete_if_empty_and_if_unused(self, open_channel: Any, unique: Names) -> None:
        queue = queue_of(open_channel(), unique("q"))
        open_channel().publish("", queue, b"1")
        with pytest.raises(Exception, match="PRECONDITION_FAILED"):
            open_channel().delete_queue(queue, if_empty=True)
        open_channel().delete_queue(queue)
        with pytest.raises(Exception, match="NOT_FOUND"):
            open_channel().declare_queue(queue, passive=True)


class TestSettling:
    def test_ack_multiple(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        for number in range(3):
            channel.publish("", queue, b"%d" % number)
        tags = [channel.get(queue).tag for _ in range(3)]
        channel.ack(tags[1], multiple=True)
        channel.nack(tags[2], requeue=True)
        assert drain(channel, queue) == [b"2"]

    def test_requeue_goes_back_to_its_place_and_is_marked(
        self, channel: Any, unique: Names
    ) -> None:
        queue = queue_of(channel, unique("q"))
        for number in range(4):
            channel.publish("", queue, b"%d" % number)
        first, second = channel.get(queue), channel.get(queue)
        assert not first.redelivered
        channel.reject(second.tag, requeue=True)
        channel.reject(first.tag, requeue=True)
        got = [channel.get(queue, no_ack=True) for _ in range(4)]
        assert [g.body for g in got] == [b"0", b"1", b"2", b"3"]
        assert [g.redelivered for g in got] == [True, True, False, False]

    def test_closing_a_channel_requeues_its_unacked(self, open_channel: Any, unique: Names) -> None:
        first, second = open_channel(), open_channel()
        queue = queue_of(first, unique("q"))
        first.publish("", queue, b"1")
        first.get(queue)
        first.close()
        got = second.get(queue, no_ack=True)
        assert (got.body, got.redelivered) == (b"1", True)

    def test_nack_multiple_to_a_dead_letter_exchange(self, channel: Any, unique: Names) -> None:
        dead = queue_of(channel, unique("dead"))
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
        queue = queue_of(channel, unique("q"), arguments=arguments)
        for number in range(3):
            channel.publish("", queue, b"%d" % number)
        tags = [channel.get(queue).tag for _ in range(3)]
        channel.nack(tags[-1], multiple=True, requeue=False)
        inbox = channel.consume(dead)
        assert [inbox.next().body for _ in range(3)] == [b"0", b"1", b"2"]


class TestConsuming:
    def test_in_order_and_acked(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        inbox = channel.consume(queue)
        for number in range(5):
            channel.publish("", queue, b"%d" % number)
        got = [inbox.next() for _ in range(5)]
        assert [g.body for g in got] == [b"0", b"1", b"2", b"3", b"4"]
        channel.ack(got[-1].tag, multiple=True)
        channel.cancel(inbox)
        assert channel.declare_queue(queue, durable=True) == (queue, 0, 0)

    def test_prefetch_per_consumer(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        for number in range(5):
            channel.publish("", queue, b"%d" % number)
        channel.qos(2)
        inbox = channel.consume(queue)
        first, second = inbox.next(), inbox.next()
        assert channel.declare_queue(queue, durable=True)[1] == 3
        assert inbox.empty()
        channel.ack(first.tag)
        assert inbox.next().body == b"2"
        channel.ack(second.tag)
        assert inbox.next().body == b"3"

    def test_prefetch_per_channel_is_shared(self, channel: Any, unique: Names) -> None:
        one, two = queue_of(channel, unique("q1")), queue_of(channel, unique("q2"))
        channel.qos(3, per_channel=True)
        inboxes = channel.consume(one), channel.consume(two)
        for number in range(5):
            channel.publish("", one, b"%d" % number)
            channel.publish("", two, b"%d" % number)
        left = channel.declare_queue(one, durable=True)[1]
        left += channel.declare_queue(two, durable=True)[1]
        assert left == 7
        assert inboxes[0].next().body == b"0"

    def test_round_robin(self, open_channel: Any, unique: Names) -> None:
        channel = open_channel()
        queue = queue_of(channel, unique("q"))
        inboxes = [open_channel().consume(queue) for _ in range(2)]
        for number in range(4):
            channel.publish("", queue, b"%d" % number)
        received = [{inbox.next().body for _ in range(2)} for inbox in inboxes]
        assert set.union(*received) == {b"0", b"1", b"2", b"3"}

    def test_no_ack(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        channel.publish("", queue, b"1")
        inbox = channel.consume(queue, no_ack=True)
        assert inbox.next().body == b"1"
        channel.cancel(inbox)
        assert channel.declare_queue(queue, durable=True) == (queue, 0, 0)

    def test_an_exclusive_consumer_shuts_others_out(self, open_channel: Any, unique: Names) -> None:
        queue = queue_of(open_channel(), unique("q"))
        open_channel().consume(queue, exclusive=True)
        with pytest.raises(Exception, match="ACCESS_REFUSED"):
            open_channel().consume(queue)

    def test_a_large_body_is_split_and_joined(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        body = bytes(range(256)) * 4096
        assert channel.publish("", queue, body) == "acked"
        assert channel.consume(queue).next().body == body

    def test_an_empty_body(self, channel: Any, unique: Names) -> None:
        queue = queue_of(channel, unique("q"))
        channel.publish("", queue, b"", message_id="m-1")
        got = channel.consume(queue).next()
        assert (got.body, got.message_id) == (b"", "m-1")
