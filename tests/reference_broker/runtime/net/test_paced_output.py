"""Output on its way to a transport: in order, in portions, and not before it takes them."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from reference_broker.core.message.content_frames import Piece
from reference_broker.runtime.net.paced_output import (
    JOINED_BYTES_MAX,
    PORTION_BYTES,
    PORTIONS_PER_TURN,
    PacedOutput,
)


class Pipe(asyncio.WriteTransport):
    """Keeps what it is given. ``pauses_at`` is how many bytes it takes before it says pause."""

    def __init__(self, pauses_at: int | None = None) -> None:
        super().__init__()
        self.output = PacedOutput(self, lambda: self.turns.append(len(self.writes)))
        self.turns: list[int] = []
        """Writes that there were whenever it was to go on in the next turn."""
        self.writes: list[bytes] = []
        self.pauses_at = pauses_at
        self.closing = False

    def write(self, data: Any) -> None:
        assert isinstance(data, bytes)  # what it keeps is nobody else's
        self.writes.append(data)
        if self.pauses_at is not None and sum(map(len, self.writes)) >= self.pauses_at:
            self.output.pause()

    def is_closing(self) -> bool:
        return self.closing


def send(pipe: Pipe, *pieces: Piece) -> None:
    pipe.output.write(list(pieces), sum(map(len, pieces)))


def test_what_is_small_goes_in_one_write() -> None:
    pipe = Pipe()
    send(pipe, b"a" * JOINED_BYTES_MAX)
    send(pipe, b"b", memoryview(b"cd"), bytearray(b"e"))
    assert [len(data) for data in pipe.writes] == [JOINED_BYTES_MAX, 4]
    assert pipe.writes[1] == b"bcde"
    assert pipe.output.takes_more
    assert pipe.output.is_empty


def test_a_paused_transport_takes_no_more_though_nothing_waits() -> None:
    pipe = Pipe(pauses_at=1)
    send(pipe, b"small")
    assert pipe.output.is_empty
    assert not pipe.output.takes_more
    pipe.output.resume()
    assert pipe.output.takes_more


def test_what_is_large_goes_in_portions() -> None:
    pipe = Pipe()
    send(pipe, b"head", memoryview(bytes(JOINED_BYTES_MAX)), b"tail")
    assert [len(data) for data in pipe.writes] == [PORTION_BYTES] * 8 + [8]
    assert pipe.writes[-1] == b"\0\0\0\0tail"
    assert pipe.output.takes_more


def test_a_transport_that_never_says_pause_has_its_share_of_a_turn() -> None:
    pipe = Pipe()
    body = bytes(2 * PORTIONS_PER_TURN * PORTION_BYTES + 1)
    send(pipe, body)
    assert len(pipe.writes) == PORTIONS_PER_TURN
    assert not pipe.output.takes_more
    send(pipe, b"last")  # another share, and no other turn
    pipe.output.go_on()
    assert pipe.turns == [PORTIONS_PER_TURN]
    assert b"".join(pipe.writes) == body + b"last"
    assert pipe.output.takes_more


def test_it_goes_on_turn_by_turn() -> None:
    pipe = Pipe()
    send(pipe, bytes(3 * PORTIONS_PER_TURN * PORTION_BYTES))
    for turns in (1, 2):
        assert pipe.turns == [PORTIONS_PER_TURN * turn for turn in range(1, turns + 1)]
        pipe.output.go_on()
    assert len(pipe.writes) == 3 * PORTIONS_PER_TURN
    assert pipe.output.takes_more
    pipe.output.go_on()
    assert len(pipe.turns) == 2


def test_it_stops_at_pause_and_goes_on_at_resume() -> None:
    pipe = Pipe(pauses_at=PORTION_BYTES + 1)
    body = bytes(JOINED_BYTES_MAX + 1)
    send(pipe, body)
    assert len(pipe.writes) == 2
    assert not pipe.output.takes_more
    assert not pipe.output.is_empty
    pipe.output.resume()  # it takes one more, and says pause again
    assert len(pipe.writes) == 3
    assert not pipe.output.takes_more
    pipe.pauses_at = None
    pipe.output.resume()
    assert b"".join(pipe.writes) == body
    assert pipe.output.takes_more
    assert pipe.output.is_empty


def test_last_words_come_after_what_waits() -> None:
    pipe = Pipe(pauses_at=1)
    send(pipe, b"x" * (JOINED_BYTES_MAX + 1))
    send(pipe, b"last")
    assert b"last" not in b"".join(pipe.writes)
    pipe.pauses_at = None
    pipe.output.resume()
    assert b"".join(pipe.writes) == b"x" * (JOINED_BYTES_MAX + 1) + b"last"


def test_a_transport_that_is_closing_gets_no_more() -> None:
    pipe = Pipe(pauses_at=1)
    send(pipe, bytes(JOINED_BYTES_MAX + 1))
    pipe.closing = True
    pipe.output.resume()
    assert len(pipe.writes) == 1
    assert not pipe.output.takes_more
    pipe.output.clear()
    assert pipe.output.is_empty


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_kept_whatever_the_sizes_and_pauses(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    pipe = Pipe()
    expected = b""
    for _ in range(12):
        pieces = [chance.randbytes(chance.choice([1, 7, 1000, 700_000])) for _ in range(5)]
        send(pipe, *pieces)
        expected += b"".join(pieces)
        written = sum(map(len, pipe.writes))
        pipe.pauses_at = written + chance.randrange(900_000)
        pipe.output.resume()
    pipe.pauses_at = None
    pipe.output.resume()
    while not pipe.output.is_empty:
        pipe.output.go_on()
    assert b"".join(pipe.writes) == expected
