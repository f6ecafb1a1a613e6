"""The ``x-delay`` header of messages for a delayed exchange (rabbitmq_delayed_message_exchange).

A message with ``x-delay: 5000`` is routed five seconds after it came; then the header says
``x-delay: -5000``, so that no delayed exchange behind this one holds it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

from mqkit.wire import Typed, decode_table, encode_table
from reference_broker.core.message.header import (
    HEADERS,
    headers_of,
    join_properties,
    split_properties,
)

DELAY = "x-delay"

DELAY_MAX_MS = (1 << 32) - 1
"""49.7 days: what Erlang's timers can wait. A longer one is no delay at all (the plugin)."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_SIGNED_32 = 1 << 31


def delay_ms(headers: Mapping[str, Any]) -> int:
    """The ms for which a message with this header table is to be held; 0 for not at all.

    Numbers of every type count, without what is behind the point, and texts that are an integer.
    Anything else is no delay (the plugin crashes on it).
    """
    value = headers.get(DELAY)
    match value:
        case bool():
            return 0
        case str() if _INTEGER.fullmatch(value):
            value = int(value)
        case float() if isfinite(value):
            value = int(value)
        case Decimal():
            value = int(value)
    return value if isinstance(value, int) and 0 < value <= DELAY_MAX_MS else 0


def with_spent_delay(header: bytes) -> bytes:
    """The content header of a message whose delay is over. It must have had one."""
    properties = split_properties(header)
    headers = decode_table(properties[HEADERS], exact=True)[0]
    spent = -delay_ms(headers_of(header))
    headers[DELAY] = Typed("I" if spent >= -_SIGNED_32 else "l", spent)
    properties[HEADERS] = encode_table(headers)
    return join_properties(header, properties)
