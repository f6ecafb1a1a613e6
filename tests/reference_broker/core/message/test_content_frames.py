"""Content as frames: the codec's bytes, and for a large body no copy of it."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames, encode_header, encode_method
from mqkit.wire.methods import BasicConsume, BasicGetOk, QueueBind, QueueDeclare
from reference_broker.core.message.content_frames import Piece, append_content
from reference_broker.testing.lone_broker import LoneBroker

FRAME_MAX = 4096
PIECE_MAX = FRAME_MAX - 8
METHOD = BasicGetOk(1, False, "", "q", 0)


def appended(body: bytes | bytearray) -> tuple[list[Piece], int]:
    output: list[Piece] = []
    header = encode_header(len(body), Properties())
    size = append_content(output, 1, encode_method(METHOD), header, body, FRAME_MAX)
    return output, size


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("size", [0, 1, PIECE_MAX, PIECE_MAX + 1, 2 * PIECE_MAX, 50_000])
def test_it_is_what_the_codec_would_write(size: int, kind: type[bytes] | type[bytearray]) -> None:
    body = kind(i % 251 for i in range(size))
    output, counted = appended(body)
    expected = content_frames(1, METHOD, Properties(), bytes(body), FRAME_MAX)
    assert b"".join(output) == expected
    assert counted == len(expected)


def test_a_body_of_one_frame_is_the_body() -> None:
    body = bytearray(PIECE_MAX)
    assert any(piece is body for piece in appended(body)[0])


def test_the_frames_of_a_larger_body_are_views_of_it() -> None:
    body = bytearray(10 * PIECE_MAX)
    views = [piece for piece in appended(body)[0] if isinstance(piece, memoryview)]
    assert sum(len(view) for view in views) == len(body)
    assert all(view.obj is body for view in views)


def test_queues_and_consumers_share_one_body() -> None:
    """Five queues of a fan-out, each with a consumer of its own: the outputs are views of what the
    queues hold, which is one buffer."""
    lone = LoneBroker()
    clients = [lone.client() for _ in range(5)]
    for number, client in enumerate(clients):
        queue = f"q{number}"
        client.send(1, QueueDeclare(queue), QueueBind(queue, "amq.fanout", ""))
        client.send(1, BasicConsume(queue, "t"))
        client.received()
    body = bytes(range(256)) * 4096
    lone.client().publish("", body, exchange="amq.fanout")
    seen = []
    for client in clients:
        output = client.connection.take_output()
        seen += [piece.obj for piece in output if isinstance(piece, memoryview)]
        assert body[:100_000] in b"".join(output)
    assert len(seen) == 5 * 9
    assert {id(each) for each in seen} == {id(seen[0])}
    assert seen[0] == body
