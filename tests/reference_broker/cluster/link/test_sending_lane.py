"""A lane at its sender: order, credit, room, and replies that need none."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.frame import FRAME_PAYLOAD_MAX, HEAD, Buffer
from reference_broker.cluster.link.lane import (
    MESSAGE_BYTES_MAX,
    MESSAGE_OVERHEAD_BYTES,
    REPLY,
    REPLY_BYTES_MAX,
    WINDOWS,
    Lane,
)
from reference_broker.cluster.link.sending_lane import WAITING_BYTES_MAX, Outgoing, SendingLane
from reference_broker.errors import LinkError


def message(size: int, kind: int = 1) -> Outgoing:
    return Outgoing(kind, (bytes(size),), size)


def taken(lane: SendingLane) -> tuple[int, int]:
    """The kind and the size of the next frame."""
    expected = lane.next_frame_bytes
    output: list[Buffer] = []
    lane.take_frame(output)
    assert sum(map(len, output)) == expected
    _, length, _, kind, _ = HEAD.unpack_from(output[0])
    return kind, length


def test_messages_go_in_order_and_large_ones_in_parts() -> None:
    lane = SendingLane(Lane.PUBLISH)
    lane.put(message(2 * FRAME_PAYLOAD_MAX + 5, kind=1))
    lane.put(message(0, kind=2))
    assert taken(lane) == (1, FRAME_PAYLOAD_MAX)
    lane.put(message(7, kind=3))
    lane.put(message(3, kind=4 | REPLY))
    assert taken(lane) == (4 | REPLY, 3)
    assert [taken(lane) for _ in range(4)] == [(1, FRAME_PAYLOAD_MAX), (1, 5), (2, 0), (3, 7)]
    assert lane.next_frame_bytes == 0
    assert lane.waiting == 0


def test_a_message_waits_for_credit_and_a_reply_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WINDOWS, Lane.PUBLISH, 1_000)
    lane = SendingLane(Lane.PUBLISH)
    for _ in range(3):
        lane.put(message(600))
    assert [taken(lane), taken(lane)] == [(1, 600)] * 2
    assert lane.next_frame_bytes == 0
    assert lane.is_stalled
    lane.put(message(0, kind=REPLY))
    assert taken(lane) == (REPLY, 0)
    lane.credit.give(600 + MESSAGE_OVERHEAD_BYTES)
    assert not lane.is_stalled
    assert taken(lane) == (1, 600)
    assert not lane.is_stalled


def test_a_message_that_began_is_ended_without_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WINDOWS, Lane.PUBLISH, 1)
    lane = SendingLane(Lane.PUBLISH)
    lane.put(message(FRAME_PAYLOAD_MAX + 1))
    assert [taken(lane), taken(lane)] == [(1, FRAME_PAYLOAD_MAX), (1, 1)]


def test_room_counts_what_waits_and_the_objects_around_it() -> None:
    lane = SendingLane(Lane.PUBLISH)
    lane.put(message(100))
    assert lane.room == WAITING_BYTES_MAX - 100 - MESSAGE_OVERHEAD_BYTES
    lane.put(message(2 * WAITING_BYTES_MAX))
    assert lane.room < 0
    with pytest.raises(AssertionError, match="lane PUBLISH has no room"):
        lane.put(message(1))
    while lane.next_frame_bytes:
        taken(lane)
    assert lane.room == WAITING_BYTES_MAX


def test_many_small_buffers_go_as_one() -> None:
    lane = SendingLane(Lane.PUBLISH)
    output: list[Buffer] = []
    lane.put(Outgoing(1, (b"many ", b"small ", b"ones"), 15))
    lane.take_frame(output)
    assert output[1:] == [b"many small ones"]


def test_a_message_that_no_receiver_would_take_is_a_mistake() -> None:
    lane = SendingLane(Lane.ASK)
    with pytest.raises(AssertionError, match="too many for lane ASK"):
        lane.put(message(MESSAGE_BYTES_MAX[Lane.ASK] + 1))
    with pytest.raises(AssertionError, match="more than a frame"):
        lane.put(message(FRAME_PAYLOAD_MAX + 1, kind=REPLY))


def test_replies_that_nobody_takes_break_the_link() -> None:
    lane = SendingLane(Lane.PUBLISH)
    most = REPLY_BYTES_MAX // (44 + MESSAGE_OVERHEAD_BYTES)
    for _ in range(most):
        lane.put(message(44, kind=REPLY))
    with pytest.raises(LinkError, match="replies of lane PUBLISH wait for a socket"):
        lane.put(message(44, kind=REPLY))
