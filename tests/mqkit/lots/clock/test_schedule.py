"""The pause between two looks through a lot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mqkit.lots.clock.looked import Looked
from mqkit.lots.clock.schedule import FAULT_S, GAP_S, LONGEST_S, REST, pause_s
from mqkit.topology.lot_model import ArchiveModel, LotModel, ReplayModel

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def lot(every_s: float | None = None, after_s: float | None = None) -> LotModel:
    return LotModel(
        "q.parked",
        None if every_s is None else ReplayModel(int(every_s * 1000), 3),
        None if after_s is None else ArchiveModel(int(after_s * 1000), "x.jsonl.gz"),
    )


def looked(due_in_s: float | None = None, **faults: str) -> Looked:
    due = None if due_in_s is None else NOW + timedelta(seconds=due_in_s)
    return Looked(5, next_due=due, **faults)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "found", "took_s", "expected"),
    [
        (lot(3600, 86_400), looked(), 0.1, LONGEST_S),
        (lot(60, 86_400), looked(), 0.1, 60.0),
        (lot(86_400, 60), looked(), 0.1, 60.0),
        (lot(60), looked(20), 0.1, 20.0),
        (lot(60), looked(200), 0.1, 60.0),
        (lot(1), looked(0.2), 0.01, GAP_S),
        (lot(1), looked(-5), 0.01, GAP_S),
        (lot(1), looked(0.2), 2.0, REST * 2.0),
        (lot(1), looked(0.2, refused="no route"), 0.01, FAULT_S),
        (lot(1), looked(archive_fault="full"), 0.01, FAULT_S),
        (lot(3600), looked(50, archive_fault="full"), 0.01, 50.0),
        (lot(), looked(), 0.01, LONGEST_S),
    ],
    ids=[
        "not longer than the longest",
        "a message that comes now is due after every",
        "or after",
        "the next that is due",
        "what comes now is due before",
        "not sooner than the gap",
        "nor in the past",
        "a tenth of the time",
        "refused",
        "a full disk",
        "a full disk, and nothing due sooner",
        "no times",
    ],
)
def test_the_pause(model: LotModel, found: Looked, took_s: float, expected: float) -> None:
    assert pause_s(model, found, NOW, took_s) == expected
