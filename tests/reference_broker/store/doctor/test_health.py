"""The verdict about a folder: each finding alone makes it unsound, and torn bytes don't."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.store.doctor.health import (
    Fault,
    FileState,
    Health,
    QueueHealth,
    SegmentHealth,
)
from reference_broker.store.format.segment import SegmentName


@pytest.fixture
def health() -> Health:
    segments = [SegmentHealth(SegmentName(base, 1), 100, FileState.SEALED) for base in (0, 100)]
    queues = [QueueHealth(7, "/", "a", messages=3), QueueHealth(8, None, None, messages=2, lost=1)]
    return Health(segments, queues, [], ["old.quarantine"], ["spare"])


def test_files_that_were_put_aside_and_torn_bytes_are_no_damage(health: Health) -> None:
    health.segments[1].torn_bytes = 5
    assert health.sound
    assert health.damaged == []
    assert (health.messages, health.lost, health.torn_bytes) == (5, 1, 5)


def add_fault(health: Health) -> None:
    health.segments[1].faults.append(Fault(64, 10, 164, "no record can be read"))


@pytest.mark.parametrize(
    "damage",
    [
        add_fault,
        lambda health: health.missing.append(200),
        lambda health: health.unlike.append("queue 7: 2 messages by footer, 3 by record"),
        lambda health: health.in_doubt.append("1 messages stand before earlier ones"),
    ],
)
def test_any_finding_makes_the_folder_unsound(
    health: Health, damage: Callable[[Health], None]
) -> None:
    damage(health)
    assert not health.sound


def test_the_damaged_segments_are_those_with_a_fault(health: Health) -> None:
    add_fault(health)
    assert [segment.name.base for segment in health.damaged] == [100]
