"""kombu over py-amqp, its own transport, which waits for each confirm as pika does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import kombu

from mqkit_bench.client.meter import Meter
from mqkit_bench.client.scenario import ACK_BATCH, PREFETCH, Load, Play, Scenario

IDLE_TIMEOUT_S = 60.0


def _connection(url: str, *, confirms: bool = False) -> Any:
    # "amqp" would be another library, where that one is installed.
    _, _, rest = url.partition("://")
    return kombu.Connection(f"pyamqp://{rest}", transport_options={"confirm_publish": confirms})


def _publish(confirms: bool, url: str, load: Load, meter: Meter) -> int:
    body = load.body
    with _connection(url, confirms=confirms) as connection:
        channel = connection.channel()
        producer = kombu.Producer(channel)
        meter.begin()
        for _ in range(load.messages):
            # With confirms it raises for whatever is not an ack.
            producer.publish(
                body,
                routing_key=load.queue,
                delivery_mode=kombu.Exchange.PERSISTENT_DELIVERY_MODE,
                mandatory=True,
                content_type="application/octet-stream",
                content_encoding="binary",
            )
        # Answered when the broker has read all publishes. How many it took, the queue will say.
        channel.queue_declare(load.queue, passive=True)
        meter.end()
    return load.messages


def _consume(
    decode: Callable[[bytes], object] | None,
    ack_every: int,
    url: str,
    load: Load,
    meter: Meter,
) -> int:
    counted = 0

    def handle(message: Any) -> None:
        nonlocal counted
        if not counted:
            meter.begin()
        counted += 1
        if decode is not None:
            decode(message.body)
        if counted % ack_every == 0 or counted == load.messages:
            message.ack(multiple=ack_every > 1)

    with _connection(url) as connection:
        queue = kombu.Queue(load.queue, no_declare=True)
        channel = connection.channel()
        with kombu.Consumer(channel, [queue], on_message=handle, prefetch_count=PREFETCH):
            while counted < load.messages:
                connection.drain_events(timeout=IDLE_TIMEOUT_S)
        channel.close()  # answered after all acks before it
        meter.end()
    return counted


def _consume_flights(url: str, load: Load, meter: Meter) -> int:
    from mqkit_bench.client.flight import Flight

    return _consume(Flight.model_validate_json, 1, url, load, meter)


CONFIRMED: Mapping[Scenario, Play] = {
    Scenario.PUBLISH_1: partial(_publish, True),
    Scenario.CONSUME_ACK: partial(_consume, None, 1),
    Scenario.CONSUME_ACK_BATCH: partial(_consume, None, ACK_BATCH),
    Scenario.CONSUME_PYDANTIC: _consume_flights,
}
UNCONFIRMED: Mapping[Scenario, Play] = {Scenario.PUBLISH_1000: partial(_publish, False)}
