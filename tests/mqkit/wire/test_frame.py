"""Writing frames: pamqp reads them, and bodies are split where frame_max says."""

from __future__ import annotations

import pamqp.body
import pamqp.frame
import pamqp.heartbeat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    FRAME_MIN_SIZE,
    HEARTBEAT_FRAME,
    EncodeError,
    FrameType,
    Properties,
    body_frames,
    content_frames,
    encode_frame,
    heartbeat_frame,
    method_frame,
    methods,
)


def test_the_layout_of_a_frame() -> None:
    frame = encode_frame(FrameType.BODY, 258, b"abc")
    assert frame == b"\x03\x01\x02\x00\x00\x00\x03abc\xce"
    assert encode_frame(FrameType.BODY, 258, memoryview(b"abc")) == frame


def test_the_heartbeat() -> None:
    assert heartbeat_frame() == HEARTBEAT_FRAME == b"\x08\x00\x00\x00\x00\x00\x00\xce"
    assert isinstance(pamqp.frame.unmarshal(HEARTBEAT_FRAME)[2], pamqp.heartbeat.Heartbeat)


def test_a_channel_is_16_bits() -> None:
    assert encode_frame(FrameType.BODY, 65535, b"")[1:3] == b"\xff\xff"
    with pytest.raises(EncodeError, match="not a channel"):
        encode_frame(FrameType.BODY, 65536, b"")
    with pytest.raises(EncodeError, match="not a channel"):
        method_frame(-1, methods.BasicAck(1))


@given(st.binary(max_size=200), st.integers(9, 300))
def test_a_body_is_split_and_joined_again(body: bytes, frame_max: int) -> None:
    frames = body_frames(1, body, frame_max)
    assert all(len(frame) <= frame_max for frame in frames)
    assert all(len(frame) == frame_max for frame in frames[:-1])
    joined = b""
    for frame in frames:
        consumed, channel, theirs = pamqp.frame.unmarshal(frame)
        assert isinstance(theirs, pamqp.body.ContentBody)
        assert (consumed, channel) == (len(frame), 1)
        assert theirs.value
        joined += theirs.value
    assert joined == body
    assert body_frames(1, memoryview(body), frame_max) == frames


def test_a_body_that_just_fits_is_one_frame() -> None:
    assert body_frames(1, b"", FRAME_MIN_SIZE) == []
    assert len(body_frames(1, b"x" * (FRAME_MIN_SIZE - 8), FRAME_MIN_SIZE)) == 1
    assert len(body_frames(1, b"x" * (FRAME_MIN_SIZE - 7), FRAME_MIN_SIZE)) == 2


def test_frames_without_room_for_a_body_are_refused() -> None:
    with pytest.raises(EncodeError, match="no body fits frames of 8 octets"):
        body_frames(1, b"x", 8)


def test_a_message_is_method_header_and_bodies() -> None:
    octets = content_frames(
        2, methods.BasicPublish("e", "k"), Properties(), b"x" * 5000, FRAME_MIN_SIZE
    )
    kinds = []
    while octets:
        consumed, channel, theirs = pamqp.frame.unmarshal(octets)
        assert channel == 2
        kinds.append(theirs.name)
        octets = octets[consumed:]
    assert kinds == ["Basic.Publish", "ContentHeader", "ContentBody", "ContentBody"]


def test_properties_that_do_not_fit_one_frame_are_refused_before_the_broker_does() -> None:
    publish = methods.BasicPublish()
    room = FRAME_MIN_SIZE - 8 - (14 + 4 + 2 + 5)  # around one header "k" with a long string
    fits = Properties(headers={"k": "x" * room})
    assert content_frames(1, publish, fits, b"", FRAME_MIN_SIZE)
    with pytest.raises(EncodeError, match="the properties take 4089 octets"):
        content_frames(1, publish, Properties(headers={"k": "x" * (room + 1)}), b"", FRAME_MIN_SIZE)
