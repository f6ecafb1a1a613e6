"""Parts of a message: together they are the message, and alone they are a fault."""

from __future__ import annotations

from sys import getrefcount

import pytest

from reference_broker.cluster.link.assembly import Assembly, Message
from reference_broker.cluster.link.frame import CONTINUES, FRAME_PAYLOAD_MAX, MORE
from reference_broker.cluster.link.frame_decoder import Frame
from reference_broker.cluster.link.lane import MESSAGE_BYTES_MAX, REPLY, Lane
from reference_broker.errors import LinkError

FULL = memoryview(bytes(FRAME_PAYLOAD_MAX))
END = memoryview(b"end")


def frame(flags: int, *payload: memoryview, lane: Lane = Lane.PUBLISH, kind: int = 1) -> Frame:
    return Frame(lane, kind, flags, payload)


def test_a_message_of_one_frame() -> None:
    message = Assembly().take(frame(0, END))
    assert message is not None
    assert message == Message(Lane.PUBLISH, 1, END)


def test_parts_come_with_frames_of_other_lanes_and_replies_between() -> None:
    assembly = Assembly()
    assert assembly.take(frame(MORE, FULL)) is None
    assert assembly.take(frame(0, END, lane=Lane.DELIVER)) is not None
    assert assembly.take(frame(MORE, FULL, lane=Lane.DELIVER)) is None
    assert assembly.take(frame(0, END, kind=REPLY)) == Message(Lane.PUBLISH, REPLY, END)
    assert assembly.take(frame(MORE | CONTINUES, FULL, FULL)) is None
    assert assembly.take(frame(CONTINUES, END)) == Message(
        Lane.PUBLISH, 1, memoryview(bytes(3 * FRAME_PAYLOAD_MAX) + END)
    )
    assert assembly.held == FRAME_PAYLOAD_MAX
    assert assembly.take(frame(0, END)) is not None


def test_when_the_last_part_comes_the_others_are_together_already() -> None:
    """To copy them only then took the loop 60 ms for 128 MiB."""
    assembly = Assembly()
    for number in range(64):
        octets = bytearray(FRAME_PAYLOAD_MAX)
        assembly.take(frame(MORE | (CONTINUES if number else 0), memoryview(octets)))
        assert getrefcount(octets) == 2, "its octets are copied, and it is let go of"
        assert assembly.held == (1 + number) * FRAME_PAYLOAD_MAX
    assert assembly.take(frame(CONTINUES, END)) is not None


@pytest.mark.parametrize(
    ("first", "second", "fault"),
    [
        (None, frame(CONTINUES, END), "a message of lane PUBLISH has no beginning"),
        (frame(MORE, FULL), frame(0, END), "a message of lane PUBLISH begins within another"),
        (frame(MORE, FULL), frame(MORE, FULL), "a message of lane PUBLISH begins within another"),
        (frame(MORE, FULL), frame(CONTINUES, END, kind=2), "kind 1 goes on as 2"),
    ],
    ids=["nothing before", "a whole one", "another one", "another kind"],
)
def test_a_part_that_does_not_belong(first: Frame | None, second: Frame, fault: str) -> None:
    assembly = Assembly()
    if first is not None:
        assembly.take(first)
    with pytest.raises(LinkError, match=fault):
        assembly.take(second)


@pytest.mark.parametrize("lane", [Lane.ASK, Lane.PUBLISH], ids=str)
def test_the_bound_of_a_lane(lane: Lane) -> None:
    assembly = Assembly()
    full = MESSAGE_BYTES_MAX[lane] // FRAME_PAYLOAD_MAX
    for number in range(full):
        assembly.take(frame(MORE | (CONTINUES if number else 0), FULL, lane=lane))
    with pytest.raises(LinkError, match=f"of lane {lane.name} above {MESSAGE_BYTES_MAX[lane]}"):
        assembly.take(frame(CONTINUES, END, lane=lane))
