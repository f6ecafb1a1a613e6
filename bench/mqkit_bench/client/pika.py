"""pika's ``BlockingConnection``. It waits for each confirm, and pipelines only without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pika

from mqkit_bench.client.meter import Meter
from mqkit_bench.client.scenario import ACK_BATCH, PREFETCH, Load, Play, Scenario


def _publish(confirms: bool, url: str, load: Load, meter: Meter) -> int:
    properties = pika.BasicProperties(delivery_mode=pika.DeliveryMode.Persistent)
    body = load.body
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        if confirms:
            channel.confirm_delivery()
        meter.begin()
        for _ in range(load.messages):
            # With confirms it raises for whatever is not an ack.
            channel.basic_publish("", load.queue, body, properties, mandatory=True)
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

    def handle(channel: Any, method: Any, _: object, body: bytes) -> None:
        nonlocal counted
        if not counted:
            meter.begin()
        counted += 1
        if decode is not None:
            decode(body)
        if counted % ack_every == 0 or counted == load.messages:
            channel.basic_ack(method.delivery_tag, multiple=ack_every > 1)
        if counted == load.messages:
            channel.stop_consuming()  # answered after all acks before it

    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=PREFETCH)
        channel.basic_consume(load.queue, handle)
        channel.start_consuming()
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
