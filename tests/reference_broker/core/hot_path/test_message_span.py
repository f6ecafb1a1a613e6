"""The span of a message in a read: complete and well-formed, or none."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import BasicPublish
from reference_broker.core.hot_path.message_span import form_of, message_at
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker


def message(body: bytes, key: str = "key") -> bytes:
    return content_frames(1, BasicPublish("", key), Properties(message_id="1"), body, FRAME_MAX)


FORM = form_of(LoneBroker().client().connection.channels[1])


@pytest.mark.parametrize("body", [b"", b"b", b"\xce" * 300])
def test_a_message_is_found_where_it_lies(body: bytes) -> None:
    data = b"before" + message(body) + message(b"next")
    span = message_at(data, 6, len(data), FORM)
    assert span is not None
    start, header_at, header_stop, stop = span
    assert data[start:stop] == message(body)
    assert data[header_at:header_stop].endswith(b"\x00\x80\x011")
    assert data[header_stop + 8 : stop - 1] == body
    assert data[start + 7 : header_at - 8].endswith(b"\x03key\x00")


@pytest.mark.parametrize("body", [b"", b"body"])
def test_a_message_that_is_cut_anywhere_is_none(body: bytes) -> None:
    data = message(body)
    assert message_at(data, 0, len(data), FORM) is not None
    for end in range(len(data)):
        assert message_at(data[:end], 0, end, FORM) is None


def test_a_message_with_one_octet_wrong_in_its_frames_is_none() -> None:
    data = bytearray(message(b"body"))
    header_at = data.index(0xCE) + 8
    frames = [*range(11), *range(header_at - 8, header_at + 12), len(data) - 1]
    for place in frames:
        data[place] ^= 1
        assert message_at(bytes(data), 0, len(data), FORM) is None, place
        data[place] ^= 1


def test_a_body_of_two_frames_is_none() -> None:
    data = content_frames(1, BasicPublish("", "key"), Properties(), b"x" * FRAME_MAX, FRAME_MAX)
    assert message_at(data, 0, len(data), FORM) is None
