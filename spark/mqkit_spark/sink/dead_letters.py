"""Dead letters of the sink: what no queue took, and rows that can't be messages. Pure.

A dead letter has the body and the properties of its message; headers say what was wrong with it and
where it stood. Its expiration is taken off: it has to stay until somebody has seen it.
"""

from __future__ import annotations

from dataclasses import replace

from mqkit.message import Message
from mqkit_spark.options import SinkOptions

ERROR = "x-mqkit-error"
PARTITION = "x-mqkit-partition"
ROW = "x-mqkit-row"
ORIGINAL_EXCHANGE = "x-mqkit-original-exchange"
ORIGINAL_ROUTING_KEY = "x-mqkit-original-routing-key"

ERROR_LETTERS_MAX = 250
"""A content header has to fit into one frame (4096 bytes at the least)."""


def dead_letter(
    message: Message, *, why: str, partition: int, row: int, options: SinkOptions
) -> Message:
    """``message`` on its way to ``deadLetterExchange``, under ``deadLetterRoutingKey``, or its own
    key where that is not given. ``options`` have the exchange."""
    assert options.dead_letter_exchange is not None
    key = options.dead_letter_routing_key
    headers = {
        **message.properties.headers,
        ERROR: why[:ERROR_LETTERS_MAX],
        PARTITION: partition,
        ROW: row,
        ORIGINAL_EXCHANGE: message.exchange,
        ORIGINAL_ROUTING_KEY: message.routing_key,
    }
    return Message(
        options.dead_letter_exchange,
        message.routing_key if key is None else key,
        message.body,
        replace(message.properties, headers=headers, expiration_ms=None),
    )
