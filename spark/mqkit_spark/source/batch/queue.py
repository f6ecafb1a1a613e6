"""The messages of a queue, a window at a time: once each, in the queue's order.

    peek      get ... get, all unacked  ->  the end: all go back together, to their places
    onRead    get ... ack, and the broker has answered  ->  only then the rows

What was peeked at stays unacked until the end: a message that went back earlier would be the next
one to come. A read that ends in the middle - an error, a dead worker - gives back what is unacked
as well, for the broker does that when the connection ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from mqkit.declaration import Queue
from mqkit.message import Delivery
from mqkit.transport.blocking import BlockingChannel
from mqkit_spark.options import AckMode, BatchReadOptions, Until
from mqkit_spark.source.batch.window import next_size

POLL_INTERVAL_S = 0.25
"""Seconds between two looks at a queue that was empty."""

ALL = 0
"""The delivery tag that, with ``multiple``, means all that is unacked (AMQP 0-9-1, basic.ack)."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of a read, in seconds."""

    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


def windows(
    channel: BlockingChannel, options: BatchReadOptions, clock: Clock | None = None
) -> Generator[list[Delivery], None, None]:
    """The messages, in lists that are not empty. ``channel`` is this read's own: the caller closes
    its connection afterwards.

    Raises what the channel's verbs raise. Closing the iterator early ends the read; messages that
    were peeked at are back when it is over.
    """
    reading = _read(channel, options, clock or Clock())
    if options.ack_mode is AckMode.ON_READ:
        return _acked(channel, options.queue, reading)
    return _given_back(channel, options.queue, reading)


def check(channel: BlockingChannel, queue: str) -> None:
    """Raises :exc:`~mqkit.errors.ChannelError` where there is no such queue, or it is exclusive to
    another connection."""
    channel.declare_queue(Queue(queue), passive=True)


def _read(
    channel: BlockingChannel, options: BatchReadOptions, clock: Clock
) -> Iterator[list[Delivery]]:
    ends_at = clock.now() + (options.timeout_s or 0.0)
    left, size = options.max_messages, next_size(0, 0)
    while left:
        asked = min(left, size)
        found = channel.get_many(options.queue, asked)
        if found:
            left -= len(found)
            yield found
            size = next_size(len(found), sum(len(each.body) for each in found))
        if len(found) == asked:
            continue
        wait_s = ends_at - clock.now()
        if options.until is Until.EMPTY or wait_s <= 0:
            return
        clock.pause(min(POLL_INTERVAL_S, wait_s))


def _acked(
    channel: BlockingChannel, queue: str, reading: Iterator[list[Delivery]]
) -> Generator[list[Delivery], None, None]:
    for window in reading:
        channel.ack(window[-1].delivery_tag, multiple=True)
        # Acks have no answer. This has one, after them.
        check(channel, queue)
        yield window


def _given_back(
    channel: BlockingChannel, queue: str, reading: Iterator[list[Delivery]]
) -> Generator[list[Delivery], None, None]:
    try:
        yield from reading
    except GeneratorExit:  # nobody wants the rest; after an error the connection's end gives back
        _give_back(channel, queue)
        raise
    _give_back(channel, queue)


def _give_back(channel: BlockingChannel, queue: str) -> None:
    """Returns when they are ready again. A classic queue knows their places; a quorum queue takes
    them in an order of its own, behind which come those that were not read."""
    channel.nack(ALL, multiple=True, requeue=True)
    # Nacks have no answer. This has one, after them.
    check(channel, queue)
