"""Lanes: what has a bound, and what costs credit."""

from __future__ import annotations

from reference_broker.cluster.link.frame import FRAME_PAYLOAD_MAX
from reference_broker.cluster.link.lane import (
    MESSAGE_BYTES_MAX,
    MESSAGE_OVERHEAD_BYTES,
    OWNER_KINDS,
    REPLY,
    WINDOWS,
    ControlKind,
    Lane,
    cost,
)


def test_every_lane_has_its_bounds_and_all_but_control_a_window() -> None:
    assert set(MESSAGE_BYTES_MAX) == set(Lane)
    assert set(WINDOWS) == set(Lane) - {Lane.CONTROL}


def test_control_fits_a_frame_and_leaves_the_owner_its_kinds() -> None:
    assert MESSAGE_BYTES_MAX[Lane.CONTROL] < FRAME_PAYLOAD_MAX
    assert max(ControlKind) < OWNER_KINDS < REPLY


def test_a_message_costs_more_than_nothing_and_a_reply_does_not() -> None:
    assert cost(1, 0) == MESSAGE_OVERHEAD_BYTES
    assert cost(1, 1_000) == 1_000 + MESSAGE_OVERHEAD_BYTES
    assert cost(1 | REPLY, 1_000) == 0
