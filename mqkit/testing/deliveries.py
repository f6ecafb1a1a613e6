"""Deliveries for tests of handlers, which are functions that anybody may call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery
from mqkit.publishing.message_options import MessageOptions
from mqkit.publishing.outgoing import outgoing
from mqkit.retry.headers import ATTEMPT, QUEUE


def delivery(
    body: object = b"",
    *,
    queue: str = "queue",
    exchange: str = "",
    routing_key: str | None = None,
    attempt: int = 1,
    redelivered: bool = False,
    message_id: str | None = None,
    headers: Mapping[str, Any] | None = None,
    **options: Unpack[MessageOptions],
) -> Delivery:
    """A delivery as a handler of ``queue`` gets it; ``body`` and options are those of
    :meth:`mqkit.App.publish`. ``attempt`` 2 is after one failure. The routing key is the queue's
    name unless said otherwise.

    Raises :exc:`~mqkit.errors.ConfigurationError` as ``publish`` does, and for an attempt below 1.
    """
    if attempt < 1:
        raise ConfigurationError(f"attempt={attempt}: the first one is 1")
    failed = {QUEUE: queue, ATTEMPT: attempt - 1} if attempt > 1 else {}
    key = queue if routing_key is None else routing_key
    message = outgoing(
        exchange,
        key,
        body,
        message_id=message_id,
        headers={**failed, **(headers or {})},
        **options,
    )
    return Delivery(exchange, key, message.body, message.properties, 1, redelivered)
