"""Content headers against pamqp, both ways, and broken ones."""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pamqp.commands
import pamqp.frame
import pamqp.header
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    EncodeError,
    Properties,
    ReplyCode,
    WireError,
    decode_header,
    encode_header,
    header_frame,
)
from mqkit.wire.properties import HEADER_PREFIX, place_of

Strategy = st.SearchStrategy[Any]

NAMES = [field.name for field in fields(Properties)]

PAMQP_NAMES = {name: "message_type" if name == "type" else name for name in NAMES}

ALL_SET = Properties(
    content_type="text/plain",
    content_encoding="utf-8",
    headers={"a": 1},
    delivery_mode=2,
    priority=9,
    correlation_id="correlation",
    reply_to="reply",
    expiration="60000",
    message_id="message",
    timestamp=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
    type="type",
    user_id="guest",
    app_id="app",
    cluster_id="cluster",
)


def refusal_of(payload: bytes) -> WireError:
    with pytest.raises(WireError) as refused:
        decode_header(payload)
    return refused.value


@given(data=st.data(), body_size=st.integers(0, 2**64 - 1))
def test_pamqp_reads_what_we_write(
    data: st.DataObject, body_size: int, any_properties: Strategy
) -> None:
    ours = data.draw(any_properties)
    _, channel, theirs = pamqp.frame.unmarshal(header_frame(3, encode_header(body_size, ours)))
    assert isinstance(theirs, pamqp.header.ContentHeader)
    assert (channel, theirs.body_size) == (3, body_size)
    unset = pamqp.commands.Basic.Properties()
    for name in NAMES:
        value = getattr(ours, name)
        expected = getattr(unset, PAMQP_NAMES[name]) if value is None else value
        assert getattr(theirs.properties, PAMQP_NAMES[name]) == expected


@given(data=st.data(), body_size=st.integers(0, 2**64 - 1))
def test_we_read_what_pamqp_writes(
    data: st.DataObject, body_size: int, any_properties: Strategy
) -> None:
    ours = data.draw(any_properties)
    theirs = pamqp.commands.Basic.Properties()
    for name in NAMES:
        value = getattr(ours, name)
        setattr(theirs, PAMQP_NAMES[name], value)
        if value == "":
            setattr(ours, name, None)  # pamqp does not send empty properties
    octets = pamqp.frame.marshal(pamqp.header.ContentHeader(0, body_size, theirs), 1)
    assert decode_header(octets[7:-1]) == (body_size, ours)


@given(data=st.data(), body_size=st.integers(0, 2**64 - 1))
def test_properties_survive(data: st.DataObject, body_size: int, any_properties: Strategy) -> None:
    properties = data.draw(any_properties)
    payload = encode_header(body_size, properties)
    assert decode_header(payload) == (body_size, properties)
    assert decode_header(memoryview(payload)) == (body_size, properties)


@pytest.mark.parametrize("name", NAMES)
def test_each_property_survives_alone(name: str) -> None:
    alone = Properties(**{name: getattr(ALL_SET, name)})
    payload = encode_header(1, alone)
    assert decode_header(payload) == (1, alone)
    (flags,) = struct.unpack_from(">H", payload, 12)
    assert flags == 0x8000 >> NAMES.index(name)


def test_an_empty_property_is_not_a_missing_one() -> None:
    empty = Properties(content_type="", headers={})
    assert decode_header(encode_header(0, empty))[1] == empty
    assert empty != Properties()


def test_every_prefix_of_a_header_is_refused() -> None:
    payload = encode_header(5, ALL_SET)
    assert decode_header(payload) == (5, ALL_SET)
    for cut in range(len(payload)):
        assert refusal_of(payload[:cut]).reply_code in (501, 502)


def test_the_flags_that_belong_to_no_property_are_ignored() -> None:
    payload = bytearray(encode_header(5, ALL_SET))
    payload[13] |= 0b11
    assert decode_header(bytes(payload)) == (5, ALL_SET)


def test_texts_that_are_not_utf8_survive() -> None:
    payload = encode_header(0, Properties())[:12] + b"\x80\x00\x02\xff\xfe"
    _, properties = decode_header(payload)
    assert properties == Properties(content_type="\udcff\udcfe")
    assert encode_header(0, properties) == payload


def test_a_time_beyond_datetime_is_seconds() -> None:
    late = Properties(timestamp=2**64 - 1)
    assert decode_header(encode_header(0, late)) == (0, late)


def test_what_is_no_header_of_basic_is_refused() -> None:
    payload = encode_header(0, ALL_SET)
    assert refusal_of(payload + b"x").text == "content header: 1 octets too many"
    assert refusal_of(b"\x00\x32" + payload[2:]).reply_code == ReplyCode.FRAME_ERROR
    assert refusal_of(payload[:3] + b"\x01" + payload[4:]).reply_code == ReplyCode.FRAME_ERROR


@given(st.binary(max_size=100), st.integers(0, 2**16 - 1))
def test_random_properties_raise_nothing_but_wire_error(octets: bytes, flags: int) -> None:
    for payload in (octets, struct.pack(">HHQH", 60, 0, 1, flags) + octets):
        try:
            decode_header(payload)
        except WireError:
            pass


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        (Properties(message_id="x" * 256), "property message_id: a short string holds 255"),
        (Properties(priority=256), "property priority: not an octet"),
        (Properties(delivery_mode=-1), "property delivery_mode: not an octet"),
        (Properties(timestamp=-1), "property timestamp: not a timestamp"),
        (Properties(headers={"a": object()}), "property headers: a field table has no type"),
    ],
)
def test_a_property_that_does_not_fit_is_named(properties: Properties, complaint: str) -> None:
    with pytest.raises(EncodeError, match=complaint):
        encode_header(0, properties)


def test_a_body_size_is_64_bits() -> None:
    with pytest.raises(EncodeError, match="not a body size"):
        encode_header(2**64, Properties())


@pytest.mark.parametrize("name", NAMES)
def test_the_place_of_a_property_has_its_octets_alone(name: str) -> None:
    payload = encode_header(5, ALL_SET)
    place = place_of(payload, name)
    assert place is not None
    alone = encode_header(5, Properties(**{name: getattr(ALL_SET, name)}))
    assert payload[place] == alone[HEADER_PREFIX.size :]
    without = encode_header(5, replace(ALL_SET, **{name: None}))
    assert place_of(without, name) is None
