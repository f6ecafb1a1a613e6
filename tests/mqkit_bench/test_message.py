"""mqkit_bench.message: sizes are those of the frames that a broker sends."""

from __future__ import annotations

from mqkit import wire
from mqkit_bench.message import BODY_BYTES_MAX, FRAME_MAX_BYTES, delivery_bytes, publish_frames


def frames(data: bytes) -> list[wire.Frame]:
    parser = wire.FrameParser(frame_max=FRAME_MAX_BYTES)
    parser.receive_data(data)
    return list(iter(parser.next_frame, None))


def test_the_largest_body_is_one_frame() -> None:
    assert len(frames(publish_frames("q", BODY_BYTES_MAX))) == 3
    assert len(frames(publish_frames("q", BODY_BYTES_MAX + 1))) == 4


def test_messages_are_persistent() -> None:
    header = frames(publish_frames("q", 10))[1]
    size, properties = wire.decode_header(header.payload)
    assert (size, properties.delivery_mode) == (10, wire.PERSISTENT)


def test_a_delivery_grows_with_body_and_name() -> None:
    size = delivery_bytes("q", 10)
    assert delivery_bytes("q", 17) == size + 7
    assert delivery_bytes("queue", 10) == size + 4
