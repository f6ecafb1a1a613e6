"""The exchange and the queues of a round, with pika: one queue keeps all that comes, and where the
broker has message-id windows, another one drops what it has seen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pika

WINDOW = "x-message-id-window"
WINDOW_MS = "x-message-id-window-ms"
WINDOW_LASTS_MS = 6 * 60 * 60 * 1_000
"""Longer than a run."""

Messages = Counter[tuple[str, bytes]]
"""Messages by id and body, and how often each is there."""


@dataclass(frozen=True, slots=True)
class Queues:
    """The names. ``window`` is ``None`` where the broker has none."""

    exchange: str
    plain: str
    window: str | None


def declare(url: str, name: str, rows: int, *, windows: bool) -> Queues:
    """A fanout exchange of that name, and its queues; the window holds the ids of ``rows``."""
    made = Queues(name, f"{name}.plain", f"{name}.window" if windows else None)
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.exchange_declare(made.exchange, "fanout", durable=True)
        channel.queue_declare(made.plain, durable=True)
        channel.queue_bind(made.plain, made.exchange)
        if made.window is not None:
            arguments = {WINDOW: rows, WINDOW_MS: WINDOW_LASTS_MS}
            channel.queue_declare(made.window, durable=True, arguments=arguments)
            channel.queue_bind(made.window, made.exchange)
    return made


def depth(url: str, queue: str) -> int:
    """The number of ready messages."""
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        state = connection.channel().queue_declare(queue, passive=True)
        return int(state.method.message_count)


def taken(url: str, queue: str) -> Messages:
    """All messages of a queue that nobody publishes to any more, taken out of it."""
    found: Messages = Counter()
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        left = int(channel.queue_declare(queue, passive=True).method.message_count)
        if left:
            for _, properties, body in channel.consume(queue, auto_ack=True):
                found[str(properties.message_id), body] += 1
                left -= 1
                if not left:
                    break
            channel.cancel()
    return found
