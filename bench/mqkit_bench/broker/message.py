"""A message of a scenario: where it goes, how it is marked, and how many bytes a delivery takes."""

from __future__ import annotations

from dataclasses import dataclass

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.message import FRAME_MAX_BYTES

TRANSIENT = 1
MESSAGE_ID = "0" * 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One publish. All messages of a scenario have the same length, so that bytes are a count."""

    routing_key: str
    body_bytes: int
    exchange: str = ""
    persistent: bool = True
    priority: int | None = None

    def publish_frames(self) -> bytes:
        """The publish on channel 1, as it is written."""
        method = methods.BasicPublish(exchange=self.exchange, routing_key=self.routing_key)
        return self._content(method)

    def delivery_frames(self, consumer_tag: str) -> bytes:
        """The frames of a delivery to that consumer."""
        deliver = methods.BasicDeliver(
            consumer_tag=consumer_tag,
            delivery_tag=1,
            exchange=self.exchange,
            routing_key=self.routing_key,
        )
        return self._content(deliver)

    def _content(self, method: methods.Method) -> bytes:
        properties = wire.Properties(
            delivery_mode=wire.PERSISTENT if self.persistent else TRANSIENT,
            message_id=MESSAGE_ID,
            priority=self.priority,
        )
        return wire.content_frames(1, method, properties, b"m" * self.body_bytes, FRAME_MAX_BYTES)
