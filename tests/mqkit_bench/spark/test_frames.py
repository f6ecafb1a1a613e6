"""mqkit_bench.spark.frames: the file holds whole publishes, and knows where each of them ends."""

from __future__ import annotations

from pathlib import Path

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.message import FRAME_MAX_BYTES
from mqkit_bench.spark.frames import FrameFile, write_frames

BODIES = [["a", "bb"], [], ["\u20ac" * 10]]


def test_each_message_begins_where_the_one_before_ends(tmp_path: Path) -> None:
    path = tmp_path / "0.frames"
    assert write_frames(iter(BODIES), "q", "label", path) == 3
    frames = FrameFile(path)
    assert frames.messages == 3
    whole = path.read_bytes()
    places = [frames.bytes_before(number) for number in range(4)]
    assert (places[0], places[3]) == (0, len(whole))
    assert [frames.messages_before(place) for place in places] == [0, 1, 2, 3]
    assert frames.messages_before(places[2] - 1) == 1
    assert bytes(frames.piece(places[1], places[2])) == whole[places[1] : places[2]]


def test_the_octets_are_persistent_publishes_with_ids(tmp_path: Path) -> None:
    path = tmp_path / "0.frames"
    write_frames(iter(BODIES), "q", "label", path)
    parser = wire.FrameParser(frame_max=FRAME_MAX_BYTES)
    parser.receive_data(path.read_bytes())
    read = []
    while (frame := parser.next_frame()) is not None:
        method = wire.decode_method(frame.payload)
        assert isinstance(method, methods.BasicPublish)
        header, body = parser.next_frame(), parser.next_frame()
        assert header is not None
        assert body is not None
        properties = wire.decode_header(header.payload)[1]
        read.append((method.routing_key, method.mandatory, properties.message_id, body.payload))
        assert properties.delivery_mode == wire.PERSISTENT
    assert read == [
        ("q", True, f"label/{number}", body.encode())
        for number, body in enumerate(["a", "bb", "\u20ac" * 10])
    ]
