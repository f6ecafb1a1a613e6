"""Frames: read by the harness, written by mqkit's codec, so that each checks the other."""

from __future__ import annotations

import pytest

from interop.chaos import frames
from mqkit import wire
from mqkit.wire import methods

ACK = wire.method_frame(3, methods.BasicAck(17, True))
CLOSE = wire.method_frame(2, methods.ChannelClose(404, "no exchange", 60, 40))


def content(properties: wire.Properties) -> bytes:
    """The payload of the content header with these properties."""
    octets = wire.content_frames(1, methods.BasicPublish("", "q"), properties, b"x", 131_072)
    (header,) = (
        payload
        for kind, _, payload in frames.FrameReader().frames(octets)
        if kind == frames.CONTENT_HEADER
    )
    return header


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_frames_are_the_same_however_the_octets_arrive(size: int) -> None:
    octets = b"AMQP\0\0\x09\x01" + ACK + CLOSE + ACK
    reader = frames.FrameReader(skip=frames.PROTOCOL_HEADER_OCTETS)
    found = [
        frame
        for start in range(0, len(octets), size)
        for frame in reader.frames(octets[start : start + size])
    ]
    assert [(kind, channel) for kind, channel, _ in found] == [(1, 3), (1, 2), (1, 3)]


def test_the_tag_of_an_ack() -> None:
    ((_, _, payload),) = frames.FrameReader().frames(ACK)
    assert frames.method_of(payload) == frames.BASIC_ACK
    assert frames.tag_of(payload) == (17, True)


def test_the_reason_of_a_close() -> None:
    ((_, _, payload),) = frames.FrameReader().frames(CLOSE)
    assert frames.method_of(payload) == frames.CHANNEL_CLOSE
    assert frames.reason_of(payload) == (404, "no exchange")


@pytest.mark.parametrize(
    "properties",
    [
        wire.Properties(message_id="p1-5"),
        wire.Properties(message_id="p1-5", content_type="a", delivery_mode=2),
        wire.Properties(
            message_id="p1-5",
            content_type="application/json",
            content_encoding="gzip",
            headers={"x-mqkit-attempt": 1, "text": "p9-9"},
            delivery_mode=2,
            priority=3,
            correlation_id="c",
            reply_to="r",
            expiration="100",
            type="t",
            app_id="a",
        ),
    ],
)
def test_the_message_id_among_other_properties(properties: wire.Properties) -> None:
    assert frames.message_id_of(content(properties)) == "p1-5"


def test_no_message_id() -> None:
    assert frames.message_id_of(content(wire.Properties(correlation_id="c"))) is None
