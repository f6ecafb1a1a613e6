"""A delay as declarations."""

from __future__ import annotations

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.delay import compile_delay


def test_every_message_is_taken_waits_and_goes_on_under_its_own_key() -> None:
    exchange, queue, binding = compile_delay("orders", 300_000)
    assert exchange == Exchange("orders.delay.5m", type="fanout")
    assert queue == Queue(
        "orders.delay.5m",
        arguments={"x-message-ttl": 300_000, "x-dead-letter-exchange": "orders"},
    )
    assert binding == Binding("orders.delay.5m", "orders.delay.5m")


def test_what_waits_can_not_be_lost_by_a_limit_or_a_restart() -> None:
    exchange, queue, _ = compile_delay("orders", 1)
    assert exchange.durable
    assert queue.durable
    assert set(queue.arguments) == {"x-message-ttl", "x-dead-letter-exchange"}
