"""Time-to-live, length limits, dead-lettering and priorities, alike on both brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Names = Callable[[str], str]


def dead_letter_queue(channel: Any, name: str) -> tuple[str, dict[str, Any]]:
    """A durable queue, and the arguments that dead-letter into it."""
    channel.declare_queue(name, durable=True)
    return name, {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name}


def declare(channel: Any, name: str, arguments: dict[str, Any]) -> str:
    channel.declare_queue(name, durable=True, arguments=arguments)
    return name


def fill(channel: Any, queue: str, count: int, **properties: Any) -> list[str]:
    return [channel.publish("", queue, b"%d" % number, **properties) for number in range(count)]


def drain(channel: Any, queue: str) -> list[bytes]:
    bodies = []
    while (got := channel.get(queue, no_ack=True)) is not None:
        bodies.append(got.body)
    return bodies


class TestTimeToLive:
    def test_of_the_queue(self, channel: Any, unique: Names) -> None:
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        queue = declare(channel, unique("q"), {**arguments, "x-message-ttl": 50})
        fill(channel, queue, 3)
        inbox = channel.consume(dead)
        assert [inbox.next().body for _ in range(3)] == [b"0", b"1", b"2"]

    def test_of_the_message(self, channel: Any, unique: Names) -> None:
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        queue = declare(channel, unique("q"), arguments)
        channel.publish("", queue, b"1", expiration="50")
        got = channel.consume(dead).next()
        assert got.body == b"1"
        assert got.expiration is None
        assert got.headers["x-death"][0]["original-expiration"] == "50"

    def test_the_shorter_of_the_two_counts(self, channel: Any, unique: Names) -> None:
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        queue = declare(channel, unique("q"), {**arguments, "x-message-ttl": 600_000})
        channel.publish("", queue, b"1", expiration="50")
        assert channel.consume(dead).next().body == b"1"

    def test_a_message_expires_at_the_head_only(self, channel: Any, unique: Names) -> None:
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        queue = declare(channel, unique("q"), arguments)
        channel.publish("", queue, b"head", expiration="600000")
        channel.publish("", queue, b"behind", expiration="1")
        marker = declare(channel, unique("marker"), {**arguments, "x-message-ttl": 100})
        channel.publish("", marker, b"marker")
        assert channel.consume(dead).next().body == b"marker"
        assert channel.get(queue, no_ack=True).body == b"head"

    def test_zero_delivers_at_once_or_never(self, channel: Any, unique: Names) -> None:
        queue = declare(channel, unique("q"), {"x-message-ttl": 0})
        channel.publish("", queue, b"lost")
        inbox = channel.consume(queue)
        channel.publish("", queue, b"caught")
        assert inbox.next().body == b"caught"

    def test_an_unused_queue_expires(self, open_channel: Any, unique: Names) -> None:
        channel = open_channel()
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        queue = declare(channel, unique("q"), {"x-expires": 100})
        waiting = declare(channel, unique("clock"), {**arguments, "x-message-ttl": 1000})
        channel.publish("", waiting, b"a second has passed")
        channel.consume(dead).next()
        with pytest.raises(Exception, match="NOT_FOUND"):
            open_channel().declare_queue(queue, passive=True)


class TestLengthLimits:
    def test_drop_head_is_the_default(self, channel: Any, unique: Names) -> None:
        queue = declare(channel, unique("q"), {"x-max-length": 2})
        assert fill(channel, queue, 4) == ["acked"] * 4
        assert drain(channel, queue) == [b"2", b"3"]

    def test_dropped_heads_are_dead_lettered(self, channel: Any, unique: Names) -> None:
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        queue = declare(channel, unique("q"), {**arguments, "x-max-length": 2})
        fill(channel, queue, 4)
        inbox = channel.consume(dead)
        got = [inbox.next() for _ in range(2)]
        assert [g.body for g in got] == [b"0", b"1"]
        assert got[0].headers["x-death"][0]["reason"] == "maxlen"

    def test_max_length_bytes_counts_bodies(self, channel: Any, unique: Names) -> None:
        queue = declare(channel, unique("q"), {"x-max-length-bytes": 10})
        for body in (b"aaaa", b"bbbb", b"cccc"):
            channel.publish("", queue, body)
        assert drain(channel, queue) == [b"bbbb", b"cccc"]

    def test_reject_publish_nacks(self, channel: Any, unique: Names) -> None:
        arguments = {"x-max-length": 2, "x-overflow": "reject-publish"}
        queue = declare(channel, unique("q"), arguments)
        assert fill(channel, queue, 3) == ["acked", "acked", "nacked"]
        assert drain(channel, queue) == [b"0", b"1"]

    def test_reject_publish_dlx_nacks_and_dead_letters(self, channel: Any, unique: Names) -> None:
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        arguments |= {"x-max-length": 1, "x-overflow": "reject-publish-dlx"}
        queue = declare(channel, unique("q"), arguments)
        assert fill(channel, queue, 2) == ["acked", "nacked"]
        assert channel.consume(dead).next().body == b"1"

    def test_unacked_messages_do_not_count(self, channel: Any, unique: Names) -> None:
        queue = declare(channel, unique("q"), {"x-max-length": 1})
        channel.publish("", queue, b"0")
        assert channel.get(queue).body == b"0"
        channel.publish("", queue, b"1")
        assert drain(channel, queue) == [b"1"]


class TestDeadLettering:
    def test_x_death_of_a_rejection(self, channel: Any, unique: Names) -> None:
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        queue = declare(channel, unique("q"), arguments)
        channel.publish("", queue, b"1", message_id="m-1", headers={"mine": "kept"})
        channel.reject(channel.get(queue).tag, requeue=False)
        got = channel.consume(dead).next()
        (death,) = got.headers["x-death"]
        assert list(death) == ["count", "reason", "queue", "time", "exchange", "routing-keys"]
        assert (death["queue"], death["reason"], death["count"]) == (queue, "rejected", 1)
        assert (death["exchange"], death["routing-keys"]) == ("", [queue])
        assert got.headers["x-first-death-queue"] == queue
        assert got.headers["x-first-death-reason"] == "rejected"
        assert got.headers["x-first-death-exchange"] == ""
        assert got.headers["mine"] == "kept"
        assert (got.message_id, got.exchange, got.routing_key) == ("m-1", "", dead)

    def test_a_retry_loop_counts_its_deaths(self, channel: Any, unique: Names) -> None:
        queue, tier = unique("q"), unique("tier")
        declare(channel, queue, {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": tier})
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}
        declare(channel, tier, {**arguments, "x-message-ttl": 20})
        channel.publish("", queue, b"1")
        inbox = channel.consume(queue)
        for _ in range(3):
            channel.reject(inbox.next().tag, requeue=False)
        got = inbox.next()
        deaths = {(d["queue"], d["reason"]): d["count"] for d in got.headers["x-death"]}
        assert deaths == {(queue, "rejected"): 3, (tier, "expired"): 3}
        assert got.headers["x-death"][0]["queue"] == tier

    def test_the_routing_key_is_kept_unless_replaced(self, channel: Any, unique: Names) -> None:
        exchange, dead = unique("dlx"), unique("dead")
        channel.declare_exchange(exchange, "topic", durable=True)
        channel.declare_queue(dead, durable=True)
        channel.bind(dead, exchange, "#")
        queue = declare(channel, unique("q"), {"x-dead-letter-exchange": exchange})
        channel.publish("", queue, b"1")
        channel.reject(channel.get(queue).tag, requeue=False)
        got = channel.consume(dead).next()
        assert (got.exchange, got.routing_key) == (exchange, queue)

    def test_a_cycle_without_rejection_ends(self, channel: Any, unique: Names) -> None:
        queue = unique("q")
        declare(
            channel,
            queue,
            {
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": queue,
                "x-message-ttl": 20,
            },
        )
        dead, arguments = dead_letter_queue(channel, unique("dead"))
        clock = declare(channel, unique("clock"), {**arguments, "x-message-ttl": 500})
        channel.publish("", queue, b"1")
        channel.publish("", clock, b"half a second has passed")
        channel.consume(dead).next()
        assert channel.get(queue) is None


class TestPriorities:
    def test_higher_first_and_in_order_within_one(self, channel: Any, unique: Names) -> None:
        queue = declare(channel, unique("q"), {"x-max-priority": 5})
        for body, priority in ((b"low1", 1), (b"high1", 5), (b"low2", 1), (b"high2", 9)):
            channel.publish("", queue, body, priority=priority)
        channel.publish("", queue, b"none")
        assert drain(channel, queue) == [b"high1", b"high2", b"low1", b"low2", b"none"]
