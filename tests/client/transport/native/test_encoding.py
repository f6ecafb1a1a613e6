"""The fast encoder says what the codec would."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Message, Properties
from mqkit.transport.native.encoding import append_publish
from mqkit.wire import EncodeError, content_frames, methods
from mqkit.wire import Properties as WireProperties

TEXTS = st.none() | st.text(max_size=40)


def by_the_codec(message: Message, frame_max: int) -> bytes:
    own = message.properties
    wire = WireProperties(
        content_type=own.content_type,
        content_encoding=own.content_encoding,
        headers=dict(own.headers) or None,
        delivery_mode=2 if own.persistent else 1,
        priority=own.priority,
        correlation_id=own.correlation_id,
        reply_to=own.reply_to,
        expiration=None if own.expiration_ms is None else str(own.expiration_ms),
        message_id=own.message_id,
        timestamp=own.timestamp,
        type=own.type,
        user_id=own.user_id,
        app_id=own.app_id,
    )
    publish = methods.BasicPublish(message.exchange, message.routing_key, message.mandatory)
    return content_frames(7, publish, wire, message.body, frame_max)


@given(
    st.builds(
        Message,
        st.text(max_size=20),
        st.text(max_size=20),
        st.binary(max_size=30) | st.integers(4080, 9000).map(bytes),
        st.builds(
            Properties,
            content_type=TEXTS,
            content_encoding=TEXTS,
            headers=st.dictionaries(st.text(max_size=5), st.integers(-9, 9) | st.text(max_size=5)),
            persistent=st.booleans(),
            priority=st.none() | st.integers(0, 255),
            correlation_id=TEXTS,
            reply_to=TEXTS,
            expiration_ms=st.none() | st.integers(0, 10**9),
            message_id=TEXTS,
            timestamp=st.none() | st.datetimes(datetime(2000, 1, 1), timezones=st.just(UTC)),
            type=TEXTS,
            user_id=TEXTS,
            app_id=TEXTS,
        ),
        st.booleans(),
    )
)
def test_every_message_is_the_same_octets(message: Message) -> None:
    parts: list[bytes] = [b"before"]
    octets = append_publish(parts, message, 7, 4096)
    written = b"".join(parts[1:])
    assert written == by_the_codec(message, 4096)
    assert octets == len(written)


@pytest.mark.parametrize("size", [0, 1, 4087, 4088, 4089, 8176, 8177])
def test_bodies_are_cut_where_frames_end(size: int) -> None:
    message = Message("x", "k", b"m" * size)
    parts: list[bytes] = []
    assert append_publish(parts, message, 7, 4096) == len(b"".join(parts))
    assert b"".join(parts) == by_the_codec(message, 4096)


@pytest.mark.parametrize(
    "properties",
    [
        Properties(headers={"h": object()}),
        Properties(headers={"h": "x" * 5000}),
        Properties(message_id="x" * 256),
        Properties(priority=256),
        Properties(priority="high"),  # type: ignore[arg-type]
        Properties(content_type="x" * 256),
    ],
    ids=["no type for it", "too large for a frame", "id", "octet", "no number", "kept text"],
)
def test_what_amqp_cant_carry_leaves_nothing_behind(properties: Properties) -> None:
    parts: list[bytes] = []
    with pytest.raises(EncodeError):
        append_publish(parts, Message("x", "k", b"m", properties), 7, 4096)
    assert parts == []
