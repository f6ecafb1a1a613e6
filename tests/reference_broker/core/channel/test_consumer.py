"""The frames of a delivery: the same as the codec's, for every size of body."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import BasicConsume, BasicDeliver, BasicGet, BasicGetOk, QueueDeclare
from reference_broker.testing.lone_broker import LoneBroker

PROPERTIES = Properties(message_id="m", headers={"a": [1, "b"]}, delivery_mode=2)


@pytest.mark.parametrize("size", [0, 1, 4087, 4088, 4089, 8176, 8177, 50_000])
@pytest.mark.parametrize("tag", ["t", "x" * 255, "märchen"])
def test_a_delivery_is_what_the_codec_would_write(size: int, tag: str) -> None:
    client = LoneBroker().client(frame_max=4096)
    client.send(1, QueueDeclare("q"), BasicConsume("q", tag))
    client.received()
    body = bytes(size)
    client.publish("q", body, properties=PROPERTIES, frame_max=4096)
    expected = content_frames(1, BasicDeliver(tag, 1, False, "", "q"), PROPERTIES, body, 4096)
    assert client.connection.output_size == len(expected)
    assert client.output() == expected


@pytest.mark.parametrize("size", [0, 1, 4088, 4089])
def test_what_get_gives_is_what_the_codec_would_write(size: int) -> None:
    client = LoneBroker().client(frame_max=4096)
    client.send(1, QueueDeclare("q"))
    client.received()
    body = bytes(size)
    client.publish("q", body, properties=PROPERTIES, frame_max=4096)
    client.send(1, BasicGet("q"))
    expected = content_frames(1, BasicGetOk(1, False, "", "q", 0), PROPERTIES, body, 4096)
    assert client.connection.output_size == len(expected)
    assert client.output() == expected


def test_a_body_may_come_in_frames_of_one_size_and_go_in_another() -> None:
    lone = LoneBroker()
    small, large = lone.client(frame_max=4096), lone.client()
    small.send(1, QueueDeclare("q"), BasicConsume("q", "t", no_ack=True))
    small.received()
    body = bytes(range(256)) * 400
    large.publish("q", body)
    assert small.received()[0].body == body


def test_a_frame_may_be_larger_by_the_eight_octets_that_some_clients_forget() -> None:
    client = LoneBroker().client(frame_max=4096)
    client.send(1, QueueDeclare("q"))
    client.received()
    client.publish("q", b"x" * 4096, frame_max=4096 + 8)
    client.publish("q", b"x" * 4097, frame_max=4096 + 9)
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1
    assert client.methods()[0].NAME == "connection.close"
