"""Publishers through an exchange, and consumers of a queue that goes away and comes back. By pika,
in threads."""

from __future__ import annotations

import threading
import time
from typing import Any

import pika

from interop.migration.facts import Facts

PUBLISH_EVERY_S = 0.02
HANDLE_S = 0.001
PREFETCH = 20
RETRY_EVERY = 25
"""One message in so many fails at first, and goes to the tier."""
AGAIN_S = 0.02
TRIES = "x-tries"
NOT_FOUND, INTERNAL_ERROR = 404, 541


class Traffic:
    """Runs in threads from :meth:`start` until :meth:`end`."""

    def __init__(self, url: str, exchange: str, keys: list[str], queue: str, tier: str) -> None:
        self._url = url
        self._exchange = exchange
        self._keys = keys
        self._queue = queue
        self._tier = tier
        self._publishing = threading.Event()
        self._consuming = threading.Event()
        self._publishers: list[threading.Thread] = []
        self._consumers: list[threading.Thread] = []

    def start(self, facts: Facts, *, publishers: int, consumers: int) -> None:
        self._publishing.set()
        self._consuming.set()
        for number in range(publishers):
            self._publishers.append(self._thread(self._publish, number, facts))
        for _ in range(consumers):
            self._consumers.append(self._thread(self._consume, facts))

    def end_publishing(self) -> None:
        """Return when the last message is confirmed."""
        self._publishing.clear()
        for thread in self._publishers:
            thread.join()

    def end(self) -> None:
        """Return when the consumers have let go of everything."""
        self._consuming.clear()
        for thread in self._consumers:
            thread.join()

    def _thread(self, work: Any, *arguments: Any) -> threading.Thread:
        def run() -> None:
            try:
                work(*arguments)
            except Exception as error:  # noqa: BLE001 - whatever it is, the run has to tell it
                arguments[-1].unexpected.append(f"{work.__name__}: {error!r}")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _publish(self, publisher: int, facts: Facts) -> None:
        with pika.BlockingConnection(pika.URLParameters(self._url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            number = 0
            while self._publishing.is_set():
                message_id = f"p{publisher}-{number}"
                properties = pika.BasicProperties(message_id=message_id, delivery_mode=2)
                key = self._keys[number % len(self._keys)]
                channel.basic_publish(self._exchange, key, b"{}", properties, mandatory=True)
                with facts.lock:
                    facts.published.append(message_id)
                number += 1
                time.sleep(PUBLISH_EVERY_S)

    def _consume(self, facts: Facts) -> None:
        while self._consuming.is_set():
            try:
                self._consume_on_a_connection(facts)
            except pika.exceptions.ConnectionClosedByBroker as error:
                # RabbitMQ 3.10.8 has a channel die of the end of its queue now and then.
                if error.reply_code != INTERNAL_ERROR:
                    raise
                with facts.lock:
                    facts.internal_errors += 1

    def _consume_on_a_connection(self, facts: Facts) -> None:
        with pika.BlockingConnection(pika.URLParameters(self._url)) as connection:
            while self._consuming.is_set():
                try:
                    channel = connection.channel()
                    channel.confirm_delivery()
                    channel.basic_qos(prefetch_count=PREFETCH)
                    self._consume_until_cancelled(channel, facts)
                except pika.exceptions.ChannelClosedByBroker as error:
                    if error.reply_code != NOT_FOUND:
                        raise
                time.sleep(AGAIN_S)

    def _consume_until_cancelled(self, channel: Any, facts: Facts) -> None:
        for method, properties, body in channel.consume(self._queue, inactivity_timeout=0.1):
            if method is not None:
                self._handle(channel, method, properties, body, facts)
            elif not self._consuming.is_set():
                channel.cancel()
                return

    def _handle(
        self, channel: Any, method: Any, properties: Any, body: bytes, facts: Facts
    ) -> None:
        message_id = str(properties.message_id)
        time.sleep(HANDLE_S)
        is_new = TRIES not in (properties.headers or {})
        if is_new and int(message_id.partition("-")[2]) % RETRY_EVERY == 0:
            again = pika.BasicProperties(message_id=message_id, delivery_mode=2, headers={TRIES: 1})
            channel.basic_publish("", self._tier, body, again, mandatory=True)
            with facts.lock:
                facts.retried += 1
        else:
            with facts.lock:
                facts.handled[message_id] += 1
        channel.basic_ack(method.delivery_tag)
