"""The tasks of workers: drain a queue, hold its messages, publish at a pace."""

from __future__ import annotations

import select
import time
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection

from mqkit_bench.consumer import Consumer, Subscription
from mqkit_bench.filler import Filler, publisher
from mqkit_bench.ring import Ring
from mqkit_bench.session import Address

IDLE_TIMEOUT_S = 120.0
"""A consumer that gets nothing for this long gives up."""


@dataclass(frozen=True, slots=True)
class Drained:
    """Messages over the seconds from the subscription to the last one that was waited for; all that
    were ``acked``, those of the last moment included; the consumer's own CPU seconds."""

    messages: int
    seconds: float
    acked: int
    cpu_s: float


def drain(pipe: Connection, address: Address, subscription: Subscription) -> None:
    """Each time it is told a number: consume and ack so many messages, and report what it
    :class:`Drained` once the broker has handled all acks."""
    while True:
        messages = pipe.recv()
        with closing(Consumer(address, subscription)) as consumer:
            cpu_before, started = time.process_time(), time.perf_counter()
            _receive(consumer, messages)
            seconds, received = time.perf_counter() - started, consumer.received
            cpu_s = time.process_time() - cpu_before
            pipe.send(Drained(received, seconds, consumer.finish(), cpu_s))


def hold(pipe: Connection, address: Address, subscription: Subscription, messages: int) -> None:
    """Consume ``messages`` and ack none; reports how many there are, then keeps them until told."""
    with closing(Consumer(address, subscription)) as consumer:
        _receive(consumer, messages)
        pipe.send(consumer.received)
        pipe.recv()


def publish_at(
    pipe: Connection, address: Address, queue: str, body_bytes: int, rate: float
) -> None:
    """Publish ``rate`` messages a second until told to stop; reports when it has begun, and at the
    end how many were confirmed, which is all that it sent."""
    with closing(Filler(publisher(address), Ring.round_robin([queue], body_bytes))) as filler:
        pipe.send(None)
        filler.keep_pace(rate, lambda: not pipe.poll())
        pipe.send(filler.confirmed)


def _receive(consumer: Consumer, messages: int) -> None:
    """Receive until so many messages have come in all."""
    poll = select.poll()
    poll.register(consumer.socket, select.POLLIN)
    while consumer.received < messages:
        if not poll.poll(1000 * IDLE_TIMEOUT_S):
            raise TimeoutError(
                f"nothing came for {IDLE_TIMEOUT_S:.0f} s: {consumer.received:,} of {messages:,}"
            )
        consumer.receive()
