"""Content headers: as the codec reads them, and as the broker does."""

from __future__ import annotations

from datetime import UTC, datetime

from fuzz.target import Target
from mqkit.wire import Properties, WireError, decode_header, encode_header
from reference_broker.core.message.header import (
    PROPERTIES,
    facts_of,
    headers_of,
    join_properties,
    split_properties,
)
from reference_broker.errors import AmqpError


def check(data: bytes) -> None:
    """Nothing but the errors of a peer's bytes, and a fixed point after one round."""
    try:
        size, properties = decode_header(data)
    except WireError:
        pass
    else:
        assert repr(decode_header(encode_header(size, properties))) == repr((size, properties))
    if len(data) < PROPERTIES:
        return  # The frame loop takes no such header.
    try:
        facts_of(data)
    except (AmqpError, WireError):
        return
    headers_of(data)
    parts = split_properties(data)
    assert split_properties(join_properties(data, parts)) == parts


def seeds() -> list[bytes]:
    every = Properties(
        content_type="text/plain",
        headers={"x-delay": 5, "CC": ["a", "b"], "deep": {"list": [1.5, b"\xff", True]}},
        delivery_mode=2,
        priority=3,
        expiration="60000",
        message_id="m",
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        user_id="guest",
    )
    return [encode_header(0, Properties()), encode_header(9, every)]


TARGET = Target("headers", check, seeds)
