from __future__ import annotations

import pytest

from reference_broker.simulation.events.events import DiskUse, Message
from reference_broker.simulation.watch.checkers import DiskUseChecker, Violation

SEGMENT_BYTES = 10_000
TIDY = DiskUse(
    size_bytes=2 * SEGMENT_BYTES + 200_000,
    live_bytes=100_000,
    foreign_bytes=0,
    entries=1,
    files=2,
    queues=1,
    definition_bytes=0,
    strangers=(),
    rotten=False,
)


def test_twice_what_is_live_and_two_segments_are_allowed() -> None:
    DiskUseChecker(SEGMENT_BYTES).rested(TIDY)


@pytest.mark.parametrize(
    "use",
    [
        TIDY._replace(live_bytes=99_000),
        TIDY._replace(size_bytes=TIDY.size_bytes + 2_000),
        TIDY._replace(strangers=("a.copy",)),
        TIDY._replace(strangers=("a.copy",), rotten=True),
    ],
)
def test_more_is_not(use: DiskUse) -> None:
    with pytest.raises(Violation, match="disk use"):
        DiskUseChecker(SEGMENT_BYTES).rested(use)


@pytest.mark.parametrize(
    "use",
    [
        TIDY._replace(size_bytes=TIDY.size_bytes + 2_000, foreign_bytes=1_000),
        TIDY._replace(size_bytes=TIDY.size_bytes + 2_000, entries=20),
        TIDY._replace(size_bytes=TIDY.size_bytes + 2_000, files=20),
        TIDY._replace(size_bytes=TIDY.size_bytes + 2_000, definition_bytes=600),
        TIDY._replace(size_bytes=9 * TIDY.size_bytes, rotten=True),
    ],
)
def test_what_is_needed_besides_counts(use: DiskUse) -> None:
    DiskUseChecker(SEGMENT_BYTES).rested(use)


def test_the_largest_message_may_have_made_its_own_segments() -> None:
    checker = DiskUseChecker(SEGMENT_BYTES)
    use = TIDY._replace(size_bytes=TIDY.size_bytes + 2 * SEGMENT_BYTES)
    with pytest.raises(Violation):
        checker.rested(use)
    checker.published(Message(1, 1, ("q",), True, 0, size=2 * SEGMENT_BYTES))
    checker.rested(use)
