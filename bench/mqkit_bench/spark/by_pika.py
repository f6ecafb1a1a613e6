"""pika in Spark's workers, as users write it: a connection for each partition.

Light on purpose: workers load this.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pika

ACK_EVERY = 1000
PREFETCH = 2 * ACK_EVERY
"""While one thousand is being handled, the next is on its way."""


def publish(url: str, queue: str, label: str, confirms: bool, rows: Iterable[Any]) -> None:
    """One partition: persistent messages with an id each, and a confirm for each or none."""
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        if confirms:
            channel.confirm_delivery()
        for number, row in enumerate(rows):
            properties = pika.BasicProperties(
                delivery_mode=pika.DeliveryMode.Persistent, message_id=f"{label}/{number}"
            )
            # With confirms it raises for whatever is not an ack.
            channel.basic_publish("", queue, row.body.encode(), properties, mandatory=True)
        # Answered when the broker has read all publishes. How many it took, the queue will say.
        channel.queue_declare(queue, passive=True)


def consume(url: str, queue: str, shares: Iterable[Any]) -> None:
    """One partition: consume so many messages as its rows (``share``) say, and ack them by the
    thousand. The bodies are looked at and forgotten."""
    for share in shares:
        with pika.BlockingConnection(pika.URLParameters(url)) as connection:
            channel = connection.channel()
            channel.basic_qos(prefetch_count=PREFETCH)
            _consume(channel, queue, share.share)


def _consume(channel: Any, queue: str, messages: int) -> None:
    counter = itertools.count(1)

    def handle(channel: Any, method: Any, _: object, body: bytes) -> None:
        number = next(counter)
        if number % ACK_EVERY == 0 or number == messages:
            channel.basic_ack(method.delivery_tag, multiple=True)
        if number == messages:
            # In this turn of the loop more may be handed over: they are left unacked, and go back.
            channel.basic_cancel(tag)
            channel.stop_consuming()

    if messages:
        tag = channel.basic_consume(queue, handle)
        channel.start_consuming()
