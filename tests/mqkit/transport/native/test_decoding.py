from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mqkit.message import Properties
from mqkit.transport.native.decoding import BODY_OCTETS_MAX, Content, properties_of
from mqkit.wire import Properties as WireProperties
from mqkit.wire import ReplyCode, WireError, encode_header, methods


def content() -> Content:
    return Content(methods.BasicDeliver("c", 1))


def test_a_body_comes_in_parts() -> None:
    arriving = content()
    assert not arriving.header(encode_header(5, WireProperties()))
    assert not arriving.body_part(b"abc")
    assert arriving.body_part(b"de")
    assert arriving.body == b"abcde"


def test_an_empty_body_is_complete_with_its_header() -> None:
    arriving = content()
    assert arriving.header(encode_header(0, WireProperties()))
    assert arriving.body == b""


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (b"\x00\x3c", ReplyCode.FRAME_ERROR),
        (encode_header(BODY_OCTETS_MAX + 1, WireProperties()), ReplyCode.FRAME_ERROR),
        (b"\x00\x32" + encode_header(0, WireProperties())[2:], ReplyCode.UNEXPECTED_FRAME),
    ],
    ids=["cut short", "too large", "of another class"],
)
def test_headers_that_are_none(header: bytes, code: ReplyCode) -> None:
    with pytest.raises(WireError) as broken:
        content().header(header)
    assert broken.value.reply_code is code
    assert (broken.value.class_id, broken.value.method_id) == (60, 60)


def test_frames_out_of_order() -> None:
    arriving = content()
    with pytest.raises(WireError, match="before its content header"):
        arriving.body_part(b"x")
    arriving.header(encode_header(2, WireProperties()))
    with pytest.raises(WireError, match="second content header"):
        arriving.header(encode_header(2, WireProperties()))
    with pytest.raises(WireError, match="longer than its header says"):
        arriving.body_part(b"xyz")


def test_what_other_programs_got_wrong_is_left_out_alone() -> None:
    odd = WireProperties(expiration="soon", timestamp=2**60, message_id="m", delivery_mode=2)
    assert properties_of(encode_header(0, odd)) == Properties(message_id="m")


def test_a_time_comes_in_utc_and_a_ttl_as_a_number() -> None:
    when = datetime(2026, 1, 2, tzinfo=UTC)
    wire = WireProperties(expiration="15", timestamp=when)
    read = properties_of(encode_header(0, wire))
    assert (read.expiration_ms, read.timestamp, read.persistent) == (15, when, False)


def test_properties_that_cant_be_read_do_not_end_anything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    header = encode_header(0, WireProperties(headers={"a": 1}))
    assert properties_of(header[:-1]) == Properties(persistent=False)
    assert "left out" in caplog.text
