"""mqkit_bench.ring: places in an endless stream of messages, however they are cut."""

from __future__ import annotations

import pytest

from mqkit_bench.message import publish_frames
from mqkit_bench.ring import PIECE_BYTES, Ring

MESSAGES = [b"a" * 3, b"b" * 10, b"c"]


def test_messages_and_bytes_agree() -> None:
    ring = Ring(MESSAGES)
    place = 0
    for number in range(3 * PIECE_BYTES // 14):
        assert ring.bytes_before(number) == place
        assert ring.messages_before(place) == number
        size = len(MESSAGES[number % 3])
        assert ring.messages_before(place + size - 1) == number
        place += size


@pytest.mark.parametrize("step", [1, 7, PIECE_BYTES // 3, 2 * PIECE_BYTES])
def test_pieces_add_up_to_the_stream(step: int) -> None:
    ring = Ring(MESSAGES)
    start = ring.bytes_before(2 * PIECE_BYTES // 14) - 50
    end = start + 100
    got, place = b"", start
    while place < end:
        piece = ring.piece(place, min(end, place + step))
        assert piece
        got += piece
        place += len(piece)
    stream = b"".join(MESSAGES) * (end // 14 + 1)
    assert got == stream[start:end]


def test_a_message_larger_than_a_piece_goes_in_several() -> None:
    ring = Ring([b"x" * (PIECE_BYTES + 1)])
    assert len(ring.piece(0, PIECE_BYTES + 1)) == PIECE_BYTES
    assert len(ring.piece(PIECE_BYTES, PIECE_BYTES + 1)) == 1


def test_queues_take_turns() -> None:
    ring = Ring.round_robin(["q1", "q2"], 5)
    first, second = publish_frames("q1", 5), publish_frames("q2", 5)
    assert bytes(ring.piece(0, 3 * len(first))) == first + second + first


def test_an_empty_ring_is_none() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Ring([])
