"""mqkit_bench.broker.message: what is published, and what its delivery looks like."""

from __future__ import annotations

import pytest

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.broker.message import Message
from mqkit_bench.message import FRAME_MAX_BYTES


def command(frames: bytes) -> wire.Command:
    parser = wire.FrameParser(frame_max=FRAME_MAX_BYTES)
    parser.receive_data(frames)
    content = wire.ContentAssembler()
    while True:
        frame = parser.next_frame()
        assert frame is not None
        if (found := content.receive(frame)) is not None:
            return found


@pytest.mark.parametrize(("persistent", "mode"), [(True, 2), (False, 1)])
def test_a_publish_is_what_it_says(persistent: bool, mode: int) -> None:
    message = Message(
        routing_key="k", exchange="x", body_bytes=5, persistent=persistent, priority=3
    )
    published = command(message.publish_frames())
    assert published.method == methods.BasicPublish(exchange="x", routing_key="k")
    assert published.properties().delivery_mode == mode
    assert published.properties().priority == 3
    assert published.body == b"mmmmm"


def test_a_delivery_carries_the_same() -> None:
    message = Message(routing_key="k", body_bytes=5)
    delivered = command(message.delivery_frames("tag"))
    assert isinstance(delivered.method, methods.BasicDeliver)
    assert (delivered.method.consumer_tag, delivered.method.routing_key) == ("tag", "k")
    assert delivered.properties() == command(message.publish_frames()).properties()


def test_lengths_differ_by_body_and_key_only() -> None:
    lengths = {
        len(Message(routing_key=key, body_bytes=9, priority=priority).publish_frames())
        for key in ("q.1", "q.2")
        for priority in range(3)
    }
    assert len(lengths) == 1
