"""mqkit_bench.confirm_counter: acks as brokers may send them."""

from __future__ import annotations

import pytest

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.confirm_counter import ACK_FRAME, ConfirmCounter


def ack(tag: int, *, multiple: bool = False) -> bytes:
    return wire.method_frame(1, methods.BasicAck(tag, multiple=multiple))


def confirmed(*received: bytes) -> int:
    counter = ConfirmCounter()
    for data in received:
        counter.feed(data)
    return counter.confirmed


def test_single_and_multiple_in_any_order() -> None:
    assert len(ack(1)) == ACK_FRAME.size
    assert confirmed(ack(2), ack(3)) == 0
    assert confirmed(ack(2), ack(3), ack(1)) == 3
    assert confirmed(ack(2) + ack(10, multiple=True) + ack(11)) == 11
    assert confirmed(ack(11), ack(5, multiple=True), ack(10, multiple=True)) == 11
    assert confirmed(ack(10, multiple=True), ack(5, multiple=True)) == 10


def test_a_confirm_that_arrives_in_pieces() -> None:
    frame = ack(7, multiple=True)
    assert confirmed(frame[:5], frame[5:20], frame[20:]) == 7


@pytest.mark.parametrize(
    ("frame", "ids"),
    [
        (wire.method_frame(1, methods.BasicNack(1)), r"60\.120"),
        (wire.method_frame(1, methods.ChannelClose(404, "x" * 20, 60, 40)), r"20\.40"),
    ],
)
def test_anything_else_than_an_ack_ends_the_run(frame: bytes, ids: str) -> None:
    with pytest.raises(ConnectionError, match=ids):
        confirmed(frame)
