"""The queue of a run: filled, and counted."""

from __future__ import annotations

import time

import httpx
import pika

from interop.spark_stream.broker import Broker
from interop.spark_stream.judgement import name

BODY_BYTES = 120
LOGIN = ("guest", "guest")
TIMEOUT_S = 10.0
LISTED_WITHIN_S = 60.0
"""RabbitMQ counts unacked messages every five seconds."""
LOOK_AGAIN_S = 0.5


def fill(broker: Broker, queue: str, messages: int) -> None:
    """Publish so many persistent messages; return when all are in the queue."""
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
        for number in range(messages):
            properties = pika.BasicProperties(message_id=name(number), delivery_mode=2)
            channel.basic_publish("", queue, f"{number:0{BODY_BYTES}d}".encode(), properties)
        while int(channel.queue_declare(queue, passive=True).method.message_count) < messages:
            connection.sleep(LOOK_AGAIN_S)


def ready(broker: Broker, queue: str) -> int:
    """The ready messages."""
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        return int(connection.channel().queue_declare(queue, passive=True).method.message_count)


def unacked(broker: Broker, queue: str) -> int:
    """The unacked messages, when the broker has had the time to count them: 0, or what stays."""
    deadline = time.monotonic() + LISTED_WITHIN_S
    while (count := _unacked(broker, queue)) and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_S)
    return count


def _unacked(broker: Broker, queue: str) -> int:
    answer = httpx.get(
        f"{broker.management_url}/api/queues/%2F/{queue}",
        auth=LOGIN,
        timeout=TIMEOUT_S,
        trust_env=False,
    )
    return int(answer.raise_for_status().json().get("messages_unacknowledged", 1))
