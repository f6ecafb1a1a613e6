"""mqkit_bench.stalls.frames: the octets by which deliveries are counted."""

from __future__ import annotations

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.stalls import frames


def test_a_delivery_has_its_body_s_frame_once() -> None:
    deliver = methods.BasicDeliver(
        consumer_tag="c", delivery_tag=7, exchange="", routing_key="stalls"
    )
    octets = wire.content_frames(1, deliver, wire.Properties(), frames.BODY, 131_072)
    assert octets.count(frames.BODY_FRAME) == 1


def test_nothing_that_is_built_asks_for_an_answer() -> None:
    built = [
        frames.declare("q"),
        frames.declare_exchange("e", "fanout"),
        frames.bind("q", "e"),
        frames.bind_exchange("e", "f"),
        frames.consume("q"),
        frames.cancel("c"),
    ]
    for octets in built:
        parser = wire.FrameParser(frame_max=131_072)
        parser.receive_data(octets)
        frame = parser.next_frame()
        assert frame is not None
        method = wire.decode_method(frame.payload)
        assert method.nowait is True  # type: ignore[attr-defined]


def test_a_fan_is_a_queue_and_a_binding_each() -> None:
    assert list(frames.fan(2, "e")) == [
        frames.declare("fan.0"),
        frames.bind("fan.0", "e"),
        frames.declare("fan.1"),
        frames.bind("fan.1", "e"),
    ]
