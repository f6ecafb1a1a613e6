"""Frames of actions, on channel 1, built before the play. No answer is asked for."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.message import FRAME_MAX_BYTES

BODY = b"stall"
BODY_FRAME = b"".join(wire.body_frames(1, BODY, FRAME_MAX_BYTES))
"""The last frame of each delivery of a message with :data:`BODY`; nothing else contains it."""
CHANNEL_FIELD = struct.Struct(">BH")
"""The type and the channel in front of each frame."""
BODY_ON_ANY_CHANNEL = BODY_FRAME[CHANNEL_FIELD.size :]
_NOTHING: Mapping[str, Any] = {}


def declare(
    queue: str,
    arguments: Mapping[str, Any] = _NOTHING,
    *,
    durable: bool = False,
    exclusive: bool = False,
    auto_delete: bool = False,
) -> bytes:
    return wire.method_frame(
        1,
        methods.QueueDeclare(
            queue=queue,
            durable=durable,
            exclusive=exclusive,
            auto_delete=auto_delete,
            nowait=True,
            arguments=dict(arguments),
        ),
    )


def declare_exchange(
    name: str, type: str, arguments: Mapping[str, Any] = _NOTHING, *, durable: bool = False
) -> bytes:
    method = methods.ExchangeDeclare(
        exchange=name, type=type, durable=durable, nowait=True, arguments=dict(arguments)
    )
    return wire.method_frame(1, method)


def bind(
    queue: str, exchange: str, key: str = "", arguments: Mapping[str, Any] = _NOTHING
) -> bytes:
    method = methods.QueueBind(
        queue=queue, exchange=exchange, routing_key=key, nowait=True, arguments=dict(arguments)
    )
    return wire.method_frame(1, method)


def bind_exchange(destination: str, source: str) -> bytes:
    method = methods.ExchangeBind(destination=destination, source=source, nowait=True)
    return wire.method_frame(1, method)


def publish(
    exchange: str,
    key: str,
    body: bytes = BODY,
    *,
    headers: Mapping[str, Any] | None = None,
    expiration: str | None = None,
    persistent: bool = False,
) -> bytes:
    """A message through ``exchange``; ``""`` is the default exchange."""
    properties = wire.Properties(
        delivery_mode=wire.PERSISTENT if persistent else None,
        headers=None if headers is None else dict(headers),
        expiration=expiration,
    )
    method = methods.BasicPublish(exchange=exchange, routing_key=key)
    return wire.content_frames(1, method, properties, body, FRAME_MAX_BYTES)


def consume(queue: str, tag: str = "c") -> bytes:
    return wire.method_frame(1, methods.BasicConsume(queue=queue, consumer_tag=tag, nowait=True))


def cancel(tag: str) -> bytes:
    return wire.method_frame(1, methods.BasicCancel(consumer_tag=tag, nowait=True))


def nack_all(*, requeue: bool) -> bytes:
    """A nack of everything that the channel has not acked yet."""
    return wire.method_frame(1, methods.BasicNack(0, multiple=True, requeue=requeue))


def fan(queues: int, exchange: str, *, durable: bool = False, key: str = "") -> Iterator[bytes]:
    """So many queues, each bound to the exchange."""
    for number in range(queues):
        yield declare(fan_queue(number), durable=durable)
        yield bind(fan_queue(number), exchange, key)


def fan_queue(number: int) -> str:
    return f"fan.{number}"


def dead_to(queue: str, arguments: Mapping[str, Any] = _NOTHING) -> dict[str, Any]:
    """The arguments of a queue whose dead letters go to that one."""
    return {**arguments, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}


def on_channel(number: int, frame: bytes) -> bytes:
    """That frame of channel 1 on another channel."""
    type, _ = CHANNEL_FIELD.unpack_from(frame)
    return CHANNEL_FIELD.pack(type, number) + frame[CHANNEL_FIELD.size :]
