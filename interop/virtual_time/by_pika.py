"""A round by pika: two threads that consume, each with a connection of its own. The slow handler's
thread waits for its limit by the clock."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pika

from interop.virtual_time import plot
from mqkit.testing.in_process.vhost import ReferenceBroker

STARTED_S = 30.0
POLL_S: Any = 0.05
"""Seconds after which a thread looks whether it is to end."""


def round_by_pika(broker: ReferenceBroker) -> tuple[plot.Happened, ...]:
    """Play one round on an empty virtual host."""
    clock = broker.clock
    notes = plot.Notes(clock.monotonic_s)
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        _declare(channel)
        consuming = [
            Consuming(broker.url, lambda own: _quick(own, notes)),
            Consuming(broker.url, lambda own: _slow(own, notes, clock.blocking.sleep)),
        ]
        try:
            for each in consuming:
                each.started.wait(STARTED_S)
            for queue in (plot.WORK, plot.SLOW):
                channel.basic_publish("", queue, b"x")
            short = pika.BasicProperties(expiration=str(plot.EXPIRES_S * 1000))
            channel.basic_publish("", plot.SHORT, b"x", short)
            delayed = pika.BasicProperties(headers={"x-delay": plot.DELAY_S * 1000})
            channel.basic_publish(plot.LATER, plot.DELAYED, b"x", delayed)
            channel.queue_declare(plot.WORK, passive=True)  # the answer comes behind the publishes
            clock.blocking.advance(plot.FIRST_PART_S)
            clock.blocking.advance(plot.SECOND_PART_S)
        finally:
            for each in consuming:
                each.end()
    return notes.in_order()


class Consuming:
    """A thread that consumes until its end. ``prepare`` gives a channel its consumers."""

    def __init__(self, url: str, prepare: Callable[[Any], None]) -> None:
        self.started = Event()
        self._ended = Event()
        self._url, self._prepare = url, prepare
        self._thread = Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        with pika.BlockingConnection(pika.URLParameters(self._url)) as connection:
            self._prepare(connection.channel())
            self.started.set()
            while not self._ended.is_set():
                connection.process_data_events(time_limit=POLL_S)


def _declare(channel: Any) -> None:
    for name in (plot.WORK, plot.PARKED, plot.SLOW, plot.GIVEN_UP, plot.EXPIRED, plot.DELAYED):
        channel.queue_declare(name)
    back = {"x-dead-letter-exchange": ""}
    for tier_s in plot.TIERS_S:
        tier = {"x-message-ttl": tier_s * 1000, "x-dead-letter-routing-key": plot.WORK, **back}
        channel.queue_declare(f"wait.{tier_s}", arguments=tier)
    expired = {"x-dead-letter-routing-key": plot.EXPIRED, **back}
    channel.queue_declare(plot.SHORT, arguments=expired)
    kind = {"x-delayed-type": "direct"}
    channel.exchange_declare(plot.LATER, plot.EXCHANGE_TYPE, arguments=kind)
    channel.queue_bind(plot.DELAYED, plot.LATER, plot.DELAYED)


def _quick(channel: Any, notes: plot.Notes) -> None:
    def fail(_: Any, method: Any, properties: Any, body: bytes) -> None:
        notes.note("attempt")
        failures = (properties.headers or {}).get("failures", 0)
        last = failures == len(plot.TIERS_S)
        goal = plot.PARKED if last else f"wait.{plot.TIERS_S[failures]}"
        again = pika.BasicProperties(headers={"failures": failures + 1})
        channel.basic_publish("", goal, body, again)
        channel.basic_ack(method.delivery_tag)

    channel.basic_consume(plot.WORK, fail)
    for queue, name in (
        (plot.PARKED, "parked"),
        (plot.GIVEN_UP, "slow is given up"),
        (plot.EXPIRED, "expired"),
        (plot.DELAYED, "delayed"),
    ):
        channel.basic_consume(queue, _note(channel, notes, name))


def _note(channel: Any, notes: plot.Notes, name: str) -> Callable[..., None]:
    def note(_: Any, method: Any, properties: Any, body: bytes) -> None:
        notes.note(name)
        channel.basic_ack(method.delivery_tag)

    return note


def _slow(channel: Any, notes: plot.Notes, sleep: Callable[[float], None]) -> None:
    def hang(_: Any, method: Any, properties: Any, body: bytes) -> None:
        notes.note("slow begins")
        sleep(plot.LIMIT_S)
        channel.basic_publish("", plot.GIVEN_UP, body)
        channel.basic_ack(method.delivery_tag)

    channel.basic_consume(plot.SLOW, hang)
