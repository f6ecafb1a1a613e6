"""The time of each message, as a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mqkit.lots.clock.due import Action, Due, due
from mqkit.topology.lot_model import ArchiveModel, LotModel, ReplayModel

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
HOUR_MS = 3_600_000
BOTH = LotModel("lot", ReplayModel(HOUR_MS, 3), ArchiveModel(24 * HOUR_MS, "a.jsonl.gz"))
BACK = LotModel("lot", ReplayModel(HOUR_MS, 3))
AWAY = LotModel("lot", archive=ArchiveModel(24 * HOUR_MS, "a.jsonl.gz"))


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


@pytest.mark.parametrize(
    ("lot", "hours", "replays", "expected"),
    [
        (BOTH, 0.5, 0, Due(Action.LEAVE, ago(-0.5))),
        (BOTH, 1, 0, Due(Action.REPLAY)),
        (BOTH, 1, 2, Due(Action.REPLAY)),
        (BOTH, 1, 3, Due(Action.LEAVE, ago(-23))),
        (BOTH, 24, 0, Due(Action.ARCHIVE)),
        (BOTH, 24, 3, Due(Action.ARCHIVE)),
        (BACK, 100, 3, Due(Action.LEAVE, None)),
        (BACK, 100, 2, Due(Action.REPLAY)),
        (AWAY, 23, 0, Due(Action.LEAVE, ago(-1))),
        (AWAY, 25, 0, Due(Action.ARCHIVE)),
        (LotModel("lot"), 100, 0, Due(Action.LEAVE, None)),
    ],
)
def test_back_away_or_not_yet(lot: LotModel, hours: float, replays: int, expected: Due) -> None:
    assert due(lot, ago(hours), replays, NOW) == expected


def test_without_a_time_it_is_left_to_a_person() -> None:
    assert due(BOTH, None, 0, NOW) == Due(Action.LEAVE, None)
