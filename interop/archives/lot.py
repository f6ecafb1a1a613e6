"""The queues of a run, filled, looked at and emptied by pika."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pika

from interop.archives.messages import Message, print_of
from interop.archives.raw import RawProperties, read_raw

SETTLE_WITHIN_S = 120.0
LOOK_AGAIN_S = 0.05
CHANNEL_MOST = 50_000
"""Messages that one channel holds unacked: the reference broker bounds them (docs/broker.md)."""
ACK_EACH = 1_000
SILENCE_S = 5.0
"""No message for so long is the end, though the broker has counted more."""


class Lots:
    """Every method has a connection of its own."""

    def __init__(self, url: str) -> None:
        read_raw()
        self._url = url

    def declare(self, *names: str) -> None:
        with self._channel() as channel:
            for name in names:
                channel.queue_declare(name, durable=True)

    def depth(self, name: str) -> int:
        """The messages that are ready."""
        with self.counting(name) as count:
            return count()

    @contextmanager
    def counting(self, name: str) -> Iterator[Callable[[], int]]:
        """Asks for the messages that are ready, often: for the time of the block."""
        with self._channel() as channel:
            yield lambda: int(channel.queue_declare(name, passive=True).method.message_count)

    def fill(self, name: str, messages: Iterable[Message]) -> None:
        """Return when the queue has them all. Raises ``RuntimeError`` if it does not get them."""
        count = 0
        with self._channel() as channel:
            for count, message in enumerate(messages, 1):  # noqa: B007 - counted to its end
                channel.basic_publish("", name, message.body, RawProperties(message.octets))
        self.wait_for(name, count)

    def wait_for(self, name: str, count: int) -> None:
        """Return when so many are ready; a killed process' messages come back when the broker sees
        that it is gone, and a look's when its connection has closed: RabbitMQ takes its time.
        Raises ``RuntimeError`` if they don't."""
        self._wait(name, lambda: self.depth(name), lambda depth: depth == count, count)

    def wait_for_all(self, names: Sequence[str], least: int) -> None:
        """As :meth:`wait_for`, of so many or more in several queues together."""
        words = " and ".join(names)
        self._wait(words, lambda: sum(map(self.depth, names)), lambda depth: depth >= least, least)

    def _wait(
        self, words: str, measure: Callable[[], int], suits: Callable[[int], bool], count: int
    ) -> None:
        deadline = time.monotonic() + SETTLE_WITHIN_S
        while not suits(depth := measure()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{words}: {depth} messages, not {count}")
            time.sleep(LOOK_AGAIN_S)

    def look(self, name: str) -> list[bytes]:
        """The prints of its messages in order; they stay."""
        found: list[bytes] = []
        with self._connection() as connection:
            left = True
            while left:
                channel = connection.channel()
                channel.basic_qos(prefetch_count=CHANNEL_MOST)
                before = len(found)
                for _, octets, body in _taken(channel, name, CHANNEL_MOST):
                    found.append(print_of(octets, body))
                left = len(found) - before == CHANNEL_MOST
        return found

    def purge(self, name: str) -> None:
        """Nothing is left that is ready."""
        with self._channel() as channel:
            channel.queue_purge(name)

    def drain(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Properties and bodies in order; they are gone."""
        with self._channel() as channel:
            channel.basic_qos(prefetch_count=CHANNEL_MOST)
            tag = 0
            for number, (tag, octets, body) in enumerate(_taken(channel, name), 1):
                if number % ACK_EACH == 0:
                    channel.basic_ack(tag, multiple=True)
                yield octets, body
            if tag:
                channel.basic_ack(0, multiple=True)

    @contextmanager
    def _channel(self) -> Iterator[Any]:
        with self._connection() as connection:
            yield connection.channel()

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        parameters = pika.URLParameters(self._url)
        parameters.heartbeat = 0  # a look at a large lot is one long loop
        with pika.BlockingConnection(parameters) as connection:
            yield connection


def _taken(channel: Any, name: str, most: int | None = None) -> Iterator[tuple[int, bytes, bytes]]:
    """Tags, properties and bodies of what is there now, ``most`` of them."""
    left = int(channel.queue_declare(name, passive=True).method.message_count)
    left = left if most is None else min(left, most)
    if not left:
        return
    for method, properties, body in channel.consume(name, inactivity_timeout=SILENCE_S):
        if method is None:
            return
        yield method.delivery_tag, properties.octets, body
        left -= 1
        if not left:
            return
