"""The one message that the bench sends: persistent, and every copy of a queue the same size.

Because all frames are known beforehand, publishers write them as they are and consumers count by
arithmetic.
"""

from __future__ import annotations

from mqkit import wire
from mqkit.wire import methods

CONSUMER_TAG = "bench"
FRAME_MAX_BYTES = 131_072
BODY_BYTES_MAX = FRAME_MAX_BYTES - wire.FRAME_OVERHEAD
"""One body frame a message: brokers may cut a longer body where they like."""

_PROPERTIES = wire.Properties(delivery_mode=wire.PERSISTENT, message_id="0" * 16)


def publish_frames(queue: str, body_bytes: int) -> bytes:
    """A publish to the queue by the default exchange, on channel 1."""
    method = methods.BasicPublish(exchange="", routing_key=queue)
    return wire.content_frames(1, method, _PROPERTIES, b"m" * body_bytes, FRAME_MAX_BYTES)


def delivery_bytes(queue: str, body_bytes: int) -> int:
    """The size of the frames in which a broker hands that message to the bench's consumer."""
    deliver = methods.BasicDeliver(
        consumer_tag=CONSUMER_TAG, delivery_tag=1, exchange="", routing_key=queue
    )
    body = b"m" * body_bytes
    return len(wire.content_frames(1, deliver, _PROPERTIES, body, FRAME_MAX_BYTES))
