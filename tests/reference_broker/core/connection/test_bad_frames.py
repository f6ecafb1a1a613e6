"""Frames that are none, or that have no place: RabbitMQ's words, and nobody blamed."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import ConnectionClose
from reference_broker.core.connection import bad_frames
from reference_broker.errors import FrameException, ReplyCode
from reference_broker.testing.lone_broker import LoneBroker


@pytest.mark.parametrize(
    ("kind", "payload", "text"),
    [
        (4, b"abc", 'type 4, all octets = <<"abc">>: unknown_frame'),
        (0, b"", "type 0, all octets = <<>>: unknown_frame"),
        (255, b"x" * 16, 'type 255, all octets = <<"xxxxxxxxxxxxxxxx">>: unknown_frame'),
        (255, b"x" * 17, 'type 255, first 16 octets = <<"xxxxxxxxxxxxxxxx">>: unknown_frame'),
        (1, b"\0\x32\0", "type 1, all octets = <<0,50,0>>: unknown_frame"),
        (2, b"\0\x3c\0\0", "type 2, all octets = <<0,60,0,0>>: unknown_frame"),
        (8, b"xyz", 'type 8, all octets = <<"xyz">>: unknown_frame'),
    ],
)
def test_what_is_no_frame(kind: int, payload: bytes, text: str) -> None:
    with pytest.raises(FrameException) as refused:
        bad_frames.check_frame(kind, payload)
    assert (refused.value.code, refused.value.text) == (ReplyCode.FRAME_ERROR, text)


@pytest.mark.parametrize(("kind", "size"), [(1, 4), (2, 14), (3, 0), (3, 1), (8, 0)])
def test_what_is_one(kind: int, size: int) -> None:
    bad_frames.check_frame(kind, bytes(size))


def test_the_limit_of_a_frame_is_named_without_what_is_around_the_payload() -> None:
    error = bad_frames.too_large(3, 131_073, 131_072)
    assert error.text == "type 3, all octets = <<>>: {frame_too_large,131073,131064}"


def test_a_bad_end_shows_the_payload() -> None:
    error = bad_frames.bad_end(3, b"x" * 20, 65)
    assert error.text == (
        'type 3, first 16 octets = <<"xxxxxxxxxxxxxxxx">>: {invalid_frame_end_marker,65}'
    )


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\x03\0\x01\0\0\0\x01x\xce", 505),
        (b"\x03\0\x05\0\0\0\x01x\xce", 505),
        (b"\x03\0\0\0\0\0\x01x\xce", 505),
        (b"\x08\0\x01\0\0\0\0\xce", 505),
        (b"\x08\0\x01\0\0\0\x01x\xce", 501),
        (b"\x02\0\x01\0\0\0\x02\0\x3c\xce", 501),
        (b"\x01\0\x01\0\0\0\0\0", 501),
        (b"\x01\0\x01\0\0\0\x0d\0\x32\0\x0a\0\0\x01\xff\0\0\0\0\0\xce", 501),
    ],
)
def test_no_method_is_blamed(frame: bytes, code: int) -> None:
    client = LoneBroker().client()
    client.send_bytes(frame)
    (close,) = client.methods()
    assert isinstance(close, ConnectionClose)
    assert (close.reply_code, close.class_id, close.method_id) == (code, 0, 0)
