"""A publisher, and a worker that fails every message: one half by a reject, which the broker
dead-letters into the lot, one half by parking it with headers of its own. By pika, in a thread."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Any

import pika

from interop.leaders.facts import Arrival, Facts, Parking

REPLAYS = "x-mqkit-replays"
PARKED_AT = "x-mqkit-parked-at"
FAILED_ON = "x-mqkit-queue"
PUBLISH_EVERY_S = 0.02
PREFETCH = 50


class Worker:
    """Runs in :attr:`threads` from :meth:`start` until :meth:`end`."""

    def __init__(self, url: str, queue: str, lot: str, facts: Facts) -> None:
        self._url = url
        self._queue = queue
        self._lot = lot
        self._facts = facts
        self._publishing = threading.Event()
        self._working = threading.Event()
        self._publisher = threading.Thread(target=self._publish, daemon=True)
        self._consumer = threading.Thread(target=self._consume, daemon=True)

    def start(self) -> None:
        self._publishing.set()
        self._working.set()
        self._publisher.start()
        self._consumer.start()

    def end_publishing(self) -> None:
        """Return when the last message is confirmed."""
        self._publishing.clear()
        self._publisher.join()

    def end(self) -> None:
        """Return when the worker has let go of everything."""
        self._working.clear()
        self._consumer.join()

    def _publish(self) -> None:
        with pika.BlockingConnection(pika.URLParameters(self._url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            number = 0
            while self._publishing.is_set():
                message_id = f"m{number}"
                properties = pika.BasicProperties(message_id=message_id, delivery_mode=2)
                channel.basic_publish("", self._queue, b"{}", properties, mandatory=True)
                self._facts.published.append(message_id)
                number += 1
                time.sleep(PUBLISH_EVERY_S)

    def _consume(self) -> None:
        with pika.BlockingConnection(pika.URLParameters(self._url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.basic_qos(prefetch_count=PREFETCH)
            for method, properties, body in channel.consume(self._queue, inactivity_timeout=0.1):
                if method is not None:
                    self._fail(channel, method, properties, body)
                elif not self._working.is_set():
                    break
            channel.cancel()

    def _fail(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        headers = dict(properties.headers or {})
        message_id, replays = str(properties.message_id), int(headers.get(REPLAYS, 0))
        self._facts.arrivals.append(Arrival(message_id, replays, time.time()))
        self._facts.parkings.append(Parking(message_id, replays, time.time()))
        if int(message_id[1:]) % 2:
            channel.basic_nack(method.delivery_tag, requeue=False)
            return
        headers |= {PARKED_AT: datetime.now(UTC).isoformat(), FAILED_ON: self._queue}
        properties.headers = headers
        channel.basic_publish("", self._lot, body, properties, mandatory=True)
        channel.basic_ack(method.delivery_tag)
