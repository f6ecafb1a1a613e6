"""Frames: what a message is cut into is the message, and none of it is copied."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from reference_broker.cluster.link.frame import (
    CONTINUES,
    FRAME_PAYLOAD_MAX,
    HEAD,
    HEAD_BYTES,
    MORE,
    cut,
    encode_frame,
    frame_head,
)
from reference_broker.cluster.link.lane import Lane

LENGTHS = st.sampled_from(
    [0, 1, 60, FRAME_PAYLOAD_MAX - 1, FRAME_PAYLOAD_MAX, FRAME_PAYLOAD_MAX + 1, 600_000]
)


@given(st.lists(LENGTHS, min_size=1, max_size=4))
@example([FRAME_PAYLOAD_MAX, 0, FRAME_PAYLOAD_MAX])
def test_pieces_together_are_the_message(lengths: list[int]) -> None:
    buffers = [bytes([65 + number]) * length for number, length in enumerate(lengths)]
    pieces = list(cut(buffers, sum(lengths)))
    parts = [b"".join(piece.buffers) for piece in pieces]
    assert b"".join(parts) == b"".join(buffers)
    assert [len(part) for part in parts] == [piece.length for piece in pieces]
    assert {len(part) for part in parts[:-1]} <= {FRAME_PAYLOAD_MAX}
    assert parts[-1] or not sum(lengths)
    flags = [piece.flags for piece in pieces]
    if len(pieces) == 1:
        assert flags == [0]
    else:
        assert flags == [MORE, *[MORE | CONTINUES] * (len(pieces) - 2), CONTINUES]


def test_a_piece_is_a_view_of_what_was_handed_in() -> None:
    body = bytes(FRAME_PAYLOAD_MAX * 3)
    for piece in cut((b"head", body), 4 + len(body)):
        views = [buffer for buffer in piece.buffers if len(buffer) > 4]
        assert all(isinstance(view, memoryview) and view.obj is body for view in views)


def test_the_head_of_a_frame() -> None:
    frame = encode_frame(Lane.DELIVER, 7, b"payload", CONTINUES)
    _, length, lane, kind, flags = HEAD.unpack_from(frame)
    assert (length, lane, kind, flags) == (7, Lane.DELIVER, 7, CONTINUES)
    assert frame[HEAD_BYTES:] == b"payload"


def test_the_checksum_does_not_depend_on_the_buffers() -> None:
    (whole,) = cut((b"one two",), 7)
    (parts,) = cut((b"one", b" ", b"two"), 7)
    assert frame_head(Lane.PUBLISH, 1, whole) == frame_head(Lane.PUBLISH, 1, parts)
