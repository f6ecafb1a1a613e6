"""The fast encoder says what the codec would."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Message, Properties
from mqkit.transport.native.encoding import append_publish, append_publishes
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


MESSAGES = st.builds(
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


@given(MESSAGES)
def test_every_message_is_the_same_octets(message: Message) -> None:
    parts: list[bytes] = [b"before"]
    octets = append_publish(parts, message, 7, 4096)
    written = b"".join(parts[1:])
    assert written == by_the_codec(message, 4096)
    assert octets == len(written)


SIMPLE = st.builds(
    Message,
    st.sampled_from(["", "x"]),
    st.sampled_from(["k", "l"]),
    st.sampled_from([b"", b"1", b"2", b"22", bytes(4088), bytes(4089), "text"]),
    st.builds(
        Properties,
        content_type=st.sampled_from([None, "text/plain"]),
        headers=st.just({}) | st.just({"a": 1}),
        persistent=st.booleans(),
        priority=st.sampled_from([None, None, 3]),
        message_id=st.sampled_from([None, "", "1", "2", "22", "ü", "x" * 255, "x" * 256, 7]),
        app_id=st.sampled_from([None, None, "app"]),
    ),
    st.booleans(),
)
"""Few enough that what follows is often alike."""


@given(st.lists(SIMPLE | MESSAGES, max_size=12), st.integers(0, 3), st.integers(1, 9000))
def test_what_is_alike_is_the_same_octets_as_one_by_one(
    messages: list[Message], start: int, octets_max: int
) -> None:
    expected: list[bytes] = []
    refused: list[int] = []
    octets, stop = 0, start
    while stop < len(messages) and octets < octets_max:
        try:
            octets += append_publish(expected, messages[stop], 7, 4096)
        except EncodeError:
            refused.append(stop)
        stop += 1
    parts: list[bytes] = [b"before"]
    *done, left_out = append_publishes(parts, messages, start, 7, 4096, octets_max)
    assert b"".join(parts) == b"before" + b"".join(expected)
    assert done == [stop, octets]
    assert [position for position, _ in left_out] == refused


@pytest.mark.parametrize("field", [each.name for each in fields(Properties)])
def test_whatever_differs_is_written(field: str) -> None:
    values = {"persistent": False, "headers": {"a": 1}, "priority": 1, "expiration_ms": 1}
    value = datetime(2026, 1, 2, tzinfo=UTC) if field == "timestamp" else values.get(field, "v")
    plain = Properties(message_id="m", content_type="t")
    other = replace(plain, **{field: value})  # type: ignore[arg-type]
    messages = [Message("x", "k", b"m", each) for each in (plain, plain, other, plain, other)]
    parts: list[bytes] = []
    append_publishes(parts, messages, 0, 7, 4096, 10_000)
    assert b"".join(parts) == b"".join(by_the_codec(each, 4096) for each in messages)


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


@pytest.mark.parametrize("body", ["text", None, 5], ids=["text", "none", "number"])
def test_a_body_that_is_no_octets_is_refused_before_it_meets_other_frames(body: object) -> None:
    parts: list[bytes] = []
    with pytest.raises(EncodeError, match="a body is bytes"):
        append_publish(parts, Message("x", "k", body), 7, 4096)  # type: ignore[arg-type]
    assert parts == []


def test_a_body_in_wide_items_is_as_long_as_its_octets() -> None:
    body = memoryview(b"12345678").cast("I")
    parts: list[bytes] = []
    octets = append_publish(parts, Message("x", "k", body), 7, 4096)  # type: ignore[arg-type]
    assert b"".join(parts) == by_the_codec(Message("x", "k", b"12345678"), 4096)
    assert octets == len(b"".join(parts))


@pytest.mark.parametrize(
    "message",
    [
        Message("x", ["k"], b"m"),  # type: ignore[arg-type]
        Message("x", "k", b"m", Properties(content_type=["text/plain"])),  # type: ignore[arg-type]
    ],
    ids=["routing key", "kept text"],
)
def test_what_cant_be_looked_up_is_an_encode_error_too(message: Message) -> None:
    with pytest.raises(EncodeError):
        append_publish([], message, 7, 4096)
