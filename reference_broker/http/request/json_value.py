"""Field table values as JSON, as RabbitMQ's management API shows them.

Types that JSON doesn't have become the nearest one: a timestamp its seconds, octets a text.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from mqkit.wire import LENIENT, Typed


def json_value(value: Any) -> Any:
    """A value that ``json.dumps`` takes. Tables and arrays are converted in depth."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return json_text(value.encode("utf-8", "surrogateescape"))
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return json_text(value)
        case datetime():
            return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
        case Decimal():
            return float(value)
        case Typed():
            return json_value(value.value)
        case Mapping():
            return {json_value(name): json_value(inner) for name, inner in value.items()}
        case list() | tuple():
            return [json_value(inner) for inner in value]
    raise AssertionError(f"a field table has no {type(value).__name__}")


def key_text(key: str) -> str:
    """A routing key to be shown: octets of it that are no text are replaced."""
    return key.encode("utf-8", LENIENT).decode("utf-8", "replace")


def json_text(octets: bytes) -> str:
    """Octets as a text (rabbit_mgmt_format:utf8_safe): as they are if they are UTF-8."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return "Not UTF-8, base64 is: " + base64.b64encode(octets).decode()
