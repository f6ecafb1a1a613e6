"""Cutting bytes into frames: every split gives the same ones, and every bound is crossed."""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    FRAME_MIN_SIZE,
    HEARTBEAT_FRAME,
    PROTOCOL_HEADER,
    ContentAssembler,
    Frame,
    FrameParser,
    FrameType,
    ReplyCode,
    WireError,
    body_frames,
    content_frames,
    encode_frame,
    method_frame,
    methods,
)
from mqkit.wire.frame_parser import FRAME_SIZE_SLACK

Strategy = st.SearchStrategy[Any]


def frames_in(parser: FrameParser) -> list[Frame]:
    frames = []
    while (frame := parser.next_frame()) is not None:
        frames.append(frame)
    return frames


def refusal_of(octets: bytes) -> WireError:
    parser = FrameParser()
    parser.receive_data(octets)
    with pytest.raises(WireError) as refused:
        frames_in(parser)
    return refused.value


@pytest.fixture(scope="module")
def any_stream(any_method: Strategy, any_properties: Strategy) -> Strategy:
    """The bytes of some frames: methods, whole messages, heartbeats, in any order."""
    channels = st.integers(1, 65535)
    pieces = st.one_of(
        st.builds(method_frame, channels, any_method),
        st.builds(
            content_frames,
            channels,
            st.just(methods.BasicPublish("e", "k")),
            any_properties,
            st.binary(max_size=60),
            st.just(FRAME_MIN_SIZE),
        ),
        st.builds(
            lambda channel, body: b"".join(body_frames(channel, body, 20)), channels, st.binary()
        ),
        st.just(HEARTBEAT_FRAME),
    )
    return st.lists(pieces, max_size=5).map(b"".join)


@given(data=st.data())
def test_every_split_gives_the_same_frames(data: st.DataObject, any_stream: Strategy) -> None:
    stream = data.draw(any_stream)
    whole = FrameParser()
    whole.receive_data(stream)
    expected = frames_in(whole)
    assert whole.buffered == 0
    assert b"".join(encode_frame(*frame) for frame in expected) == stream

    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    split = FrameParser()
    frames = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        split.receive_data(stream[start:end])
        frames += frames_in(split)
    assert frames == expected
    assert split.buffered == 0


def test_one_octet_at_a_time_gives_the_same_frames() -> None:
    stream = method_frame(1, methods.QueueDeclare("q", arguments={"x-max-length": 5}))
    stream += HEARTBEAT_FRAME + b"".join(body_frames(1, b"x" * 30, 20))
    whole = FrameParser()
    whole.receive_data(stream)
    split = FrameParser()
    frames = []
    for octet in stream:
        split.receive_data(bytes((octet,)))
        frames += frames_in(split)
    assert frames == frames_in(whole)
    assert len(frames) == 5


def test_every_prefix_gives_the_frames_that_it_holds_and_keeps_the_rest() -> None:
    stream = HEARTBEAT_FRAME + method_frame(3, methods.BasicAck(7))
    for cut in range(len(stream)):
        parser = FrameParser()
        parser.receive_data(stream[:cut])
        frames = frames_in(parser)
        assert len(frames) == (cut >= len(HEARTBEAT_FRAME))
        assert parser.buffered == cut - len(HEARTBEAT_FRAME) * len(frames)
        parser.receive_data(stream[cut:])
        assert len(frames + frames_in(parser)) == 2


@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_wire_error(octets: bytes) -> None:
    parser = FrameParser()
    parser.receive_data(octets)
    try:
        frames_in(parser)
    except WireError:
        pass


@given(data=st.data())
def test_a_changed_stream_raises_nothing_but_wire_error(
    data: st.DataObject, any_stream: Strategy
) -> None:
    """Through the whole decoder: frames, commands, properties."""
    stream = bytearray(data.draw(any_stream))
    for _ in range(data.draw(st.integers(1, 4)) if stream else 0):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    parser = FrameParser()
    parser.receive_data(stream)
    channels: dict[int, ContentAssembler] = {}
    try:
        for frame in frames_in(parser):
            command = channels.setdefault(frame.channel, ContentAssembler()).receive(frame)
            if command is not None and command.method.HAS_CONTENT:
                command.properties()
    except WireError:
        pass


def test_before_tune_a_frame_is_4096_octets_at_most() -> None:
    parser = FrameParser()
    largest = FRAME_MIN_SIZE - 8 + FRAME_SIZE_SLACK
    parser.receive_data(encode_frame(FrameType.BODY, 1, b"x" * largest))
    assert len(frames_in(parser)) == 1
    refused = refusal_of(encode_frame(FrameType.BODY, 1, b"x" * (largest + 1)))
    assert refused.reply_code == ReplyCode.FRAME_ERROR
    assert refused.text == "frame of 4097 octets is larger than 4088"


def test_after_tune_a_frame_is_what_was_negotiated_at_most() -> None:
    parser = FrameParser()
    parser.frame_max = 131_072
    parser.receive_data(encode_frame(FrameType.BODY, 1, b"x" * 131_072))
    assert len(frames_in(parser)) == 1
    parser.receive_data(struct.pack(">BHL", 3, 1, 131_073))
    with pytest.raises(WireError, match="larger than 131064"):
        parser.next_frame()


@pytest.mark.parametrize("frame_max", [0, 4095, -1])
def test_frame_max_below_the_protocols_minimum_is_refused(frame_max: int) -> None:
    with pytest.raises(ValueError, match="4096 at least"):
        FrameParser(frame_max)
    parser = FrameParser()
    with pytest.raises(ValueError, match="4096 at least"):
        parser.frame_max = frame_max
    assert parser.frame_max == FRAME_MIN_SIZE


def test_nothing_is_allocated_on_a_peers_word() -> None:
    tracemalloc.start()
    try:
        parser = FrameParser(2**31)
        parser.receive_data(struct.pack(">BHL", 3, 1, 2**31 - 8))
        assert parser.next_frame() is None
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("octets", "code", "complaint"),
    [
        (b"\x07\x00\x01\x00\x00\x00\x00\xce", 501, "no frame has type 7"),
        (b"GET / HTTP/1.1\r\n", 501, "no frame has type 71; first octets: b'GET / HT'"),
        (PROTOCOL_HEADER, 501, "peer wants another protocol version: b'AMQP"),
        (b"\x01\x00\x01\x00\x00\x00\x00\x00", 501, "frame ends with 0x00"),
        (b"\x08\x00\x00\x00\x00\x00\x01a\xce", 501, "heartbeat of 1 octets"),
        (b"\x08\x00\x01\x00\x00\x00\x00\xce", 505, "heartbeat on channel 1"),
        (b"\x01\x00\x01\xff\xff\xff\xff", 501, "frame of 4294967295 octets"),
    ],
)
def test_what_is_no_frame_is_refused(octets: bytes, code: int, complaint: str) -> None:
    refused = refusal_of(octets)
    assert refused.reply_code == code
    assert complaint in refused.text


def test_after_an_error_the_parser_is_done() -> None:
    parser = FrameParser()
    parser.receive_data(HEARTBEAT_FRAME + b"\x07" * 8)
    assert parser.next_frame() is not None
    with pytest.raises(WireError) as first:
        parser.next_frame()
    parser.receive_data(HEARTBEAT_FRAME)
    assert parser.buffered == 0
    with pytest.raises(WireError) as second:
        parser.next_frame()
    assert second.value is first.value
