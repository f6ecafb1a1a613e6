"""Facts of a content header: against mqkit.wire's codec, for every combination of properties."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Properties, encode_header
from reference_broker.core.arguments.queue_arguments import MAX_EXPIRY_MS
from reference_broker.core.message import header as header_module
from reference_broker.core.message.header import (
    MAX_CACHED_FACTS,
    HeaderFacts,
    facts_of,
    headers_of,
    join_properties,
    shape_of,
    split_properties,
)
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode

texts = st.text(max_size=20)
some_properties = st.fixed_dictionaries(
    {},
    optional={
        "content_type": texts,
        "content_encoding": texts,
        "headers": st.dictionaries(texts, st.integers(-9, 9) | texts, max_size=3),
        "delivery_mode": st.integers(0, 255),
        "priority": st.integers(0, 255),
        "correlation_id": texts,
        "reply_to": texts,
        "expiration": st.integers(0, MAX_EXPIRY_MS).map(str),
        "message_id": texts,
        "timestamp": st.integers(0, 2**40).map(lambda s: datetime.fromtimestamp(s % 2**31, UTC)),
        "type": texts,
        "user_id": texts,
        "app_id": texts,
        "cluster_id": texts,
    },
)


@given(some_properties)
def test_the_facts_are_what_the_codec_encoded(values: dict[str, Any]) -> None:
    header = encode_header(3, Properties(**values))
    expected = HeaderFacts(
        persistent=values.get("delivery_mode") == 2,
        priority=values.get("priority", 0),
        expiration_ms=int(values["expiration"]) if "expiration" in values else None,
        user_id=values["user_id"].encode() if "user_id" in values else None,
        has_headers="headers" in values,
        plain="user_id" not in values and b"CC" not in header,
    )
    assert facts_of(header) == expected
    assert facts_of(header) == expected, "the cache gives the same"
    assert headers_of(header) == values.get("headers", {})


@given(some_properties, some_properties)
def test_a_header_of_the_same_shape_has_the_same_facts(
    values: dict[str, Any], others: dict[str, Any]
) -> None:
    header = encode_header(3, Properties(**values))
    other = encode_header(3, Properties(**values | {k: others[k] for k in values if k in others}))
    shape = shape_of(header)
    assert header.startswith(shape)
    if len(other) == len(header) and other.startswith(shape):
        assert facts_of(other) == facts_of(header)


def test_a_message_id_and_a_timestamp_are_free_in_a_shape() -> None:
    when = datetime.fromtimestamp(1, UTC)
    header = encode_header(3, Properties(delivery_mode=2, message_id="abcd", timestamp=when))
    assert shape_of(header) == header[:16]
    assert header[15] == len("abcd")
    assert join_properties(header, split_properties(header)) == header


@given(some_properties, st.integers(1, 5))
def test_a_header_that_is_cut_short_is_a_syntax_error(values: dict[str, Any], cut: int) -> None:
    header = encode_header(3, Properties(**values))
    if len(header) - cut < 14:
        return
    with pytest.raises(ConnectionException) as error:
        split_properties(header[:-cut])
    assert error.value.code is ReplyCode.SYNTAX_ERROR


@pytest.mark.parametrize("flags", [1 << bit for bit in range(2, 16)])
def test_a_property_that_is_announced_must_be_there(flags: int) -> None:
    with pytest.raises(ConnectionException, match="cut short"):
        facts_of(bytes(12) + flags.to_bytes(2, "big"))


def test_a_header_table_that_is_none_is_a_syntax_error() -> None:
    header = join_properties(bytes(14), {0x8000: b"\2ab", 0x2000: b"\0\0\0\2\5a"})
    for read in (facts_of, headers_of):
        with pytest.raises(ConnectionException, match="SYNTAX_ERROR"):
            read(header)


@given(some_properties, st.binary(min_size=1, max_size=3))
def test_octets_behind_the_properties_are_refused(values: dict[str, Any], behind: bytes) -> None:
    with pytest.raises(ConnectionException, match="octets too many"):
        facts_of(encode_header(3, Properties(**values)) + behind)


def test_flags_that_announce_more_flags_are_refused_and_the_reserved_one_is_not() -> None:
    with pytest.raises(ConnectionException, match="too many flags"):
        facts_of(bytes(12) + b"\x00\x01")
    assert facts_of(bytes(12) + b"\x00\x02").plain


@pytest.mark.parametrize(
    ("properties", "plain"),
    [
        (Properties(reply_to="amq.rabbitmq.reply-to"), False),
        (Properties(reply_to="amq.gen-x", headers={"a": 1}), True),
        (Properties(headers={"CC": ["a"]}), False),
        (Properties(headers={"BCC": ["a"]}, expiration="5"), False),
        (Properties(user_id="guest"), False),
        (Properties(expiration="5", message_id="m"), True),
    ],
)
def test_what_the_publishers_channel_has_to_see_to(properties: Properties, plain: bool) -> None:
    assert facts_of(encode_header(0, properties)).plain is plain


@pytest.mark.parametrize(
    ("expiration", "why"),
    [
        ("abc", "no_integer"),
        ("", "no_integer"),
        (" 5", "no_integer"),
        ("é", "no_integer"),
        ("'", "no_integer"),
        ("-1", "{value_negative,-1}"),
        ("1.5", '{leftover_string,".5"}'),
        ("5 ", '{leftover_string," "}'),
        ("-5x", '{leftover_string,"x"}'),
        (str(MAX_EXPIRY_MS + 1), "{value_too_large,315360000001}"),
    ],
)
def test_a_bad_expiration_is_refused_in_rabbitmqs_words(expiration: str, why: str) -> None:
    header = encode_header(0, Properties(expiration=expiration))
    for _ in range(2):
        with pytest.raises(ChannelException) as refusal:
            facts_of(header)
        assert refusal.value.code is ReplyCode.PRECONDITION_FAILED
        assert refusal.value.text == f"invalid expiration '{expiration}': {why}"


@pytest.mark.parametrize(
    ("expiration", "expected"),
    [("0", 0), ("+5", 5), ("00012", 12), ("-0", 0), (str(MAX_EXPIRY_MS), MAX_EXPIRY_MS)],
)
def test_an_expiration_is_read_as_erlang_reads_it(expiration: str, expected: int) -> None:
    assert facts_of(encode_header(0, Properties(expiration=expiration))).expiration_ms == expected


def test_the_cache_is_bounded() -> None:
    for number in range(3 * MAX_CACHED_FACTS):
        facts_of(encode_header(0, Properties(reply_to=str(number))))
        facts_of(encode_header(0, Properties(app_id="a" * 200, reply_to=str(number))))
        facts_of(encode_header(0, Properties(message_id=str(number))))
    assert 0 < len(header_module._cache) <= MAX_CACHED_FACTS
    assert all(len(key) <= header_module.MAX_CACHED_HEADER for key in header_module._cache)
