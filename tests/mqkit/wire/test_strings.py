"""Short and long strings, and the bounds of both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import EncodeError, ReplyCode, WireError
from mqkit.wire.strings import (
    LENIENT,
    decode_longstr,
    decode_shortstr,
    encode_longstr,
    encode_shortstr,
)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=63), st.binary(max_size=5))
def test_a_short_string_survives_wherever_it_stands(text: str, before: bytes) -> None:
    octets = before + encode_shortstr(text)
    assert decode_shortstr(octets + b"more", len(before)) == (text, len(octets))
    assert decode_shortstr(memoryview(octets), len(before)) == (text, len(octets))


def test_a_short_string_holds_255_octets_and_no_more() -> None:
    assert decode_shortstr(encode_shortstr("x" * 255)) == ("x" * 255, 256)
    assert encode_shortstr("é" * 127) == b"\xfe" + "é".encode() * 127
    with pytest.raises(EncodeError, match="holds 255 bytes, got 256"):
        encode_shortstr("é" * 128)


@pytest.mark.parametrize("octets", [b"", b"\x01", b"\x05abcd"])
def test_a_short_string_that_is_cut_short_is_refused(octets: bytes) -> None:
    with pytest.raises(WireError) as refused:
        decode_shortstr(octets)
    assert refused.value.reply_code == ReplyCode.FRAME_ERROR


@given(st.binary(max_size=255))
def test_lenient_strings_give_back_the_same_octets(octets: bytes) -> None:
    text, end = decode_shortstr(bytes((len(octets),)) + octets, 0, LENIENT)
    assert end == len(octets) + 1
    assert encode_shortstr(text, LENIENT)[1:] == octets


def test_strict_strings_are_utf8() -> None:
    with pytest.raises(WireError, match="Malformed UTF-8 in shortstr"):
        decode_shortstr(b"\x02\xc3\x28")
    with pytest.raises(EncodeError, match="not a text"):
        encode_shortstr("\udcff")
    with pytest.raises(EncodeError, match="not a text"):
        encode_shortstr(5)  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="not a text"):
        encode_shortstr(b"x")  # type: ignore[arg-type]


@given(st.binary(max_size=300), st.binary(max_size=5))
def test_a_long_string_survives_wherever_it_stands(value: bytes, before: bytes) -> None:
    octets = before + encode_longstr(value)
    assert decode_longstr(octets + b"more", len(before)) == (value, len(octets))
    assert decode_longstr(memoryview(octets), len(before)) == (value, len(octets))
    assert encode_longstr(memoryview(value)) == encode_longstr(bytearray(value))


@pytest.mark.parametrize("octets", [b"", b"\x00\x00\x00", b"\x00\x00\x00\x02a", b"\xff" * 8])
def test_a_long_string_that_is_cut_short_is_refused(octets: bytes) -> None:
    with pytest.raises(WireError) as refused:
        decode_longstr(octets)
    assert refused.value.reply_code == ReplyCode.FRAME_ERROR


def test_a_long_string_is_made_of_bytes() -> None:
    with pytest.raises(EncodeError, match="wants bytes, got str"):
        encode_longstr("text")  # type: ignore[arg-type]
