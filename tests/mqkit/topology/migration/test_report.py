"""The report as plain values."""

from __future__ import annotations

import json

from mqkit.declaration import Queue
from mqkit.topology.migration.migration import Migration
from mqkit.topology.migration.progress import InDoubt, Progress
from mqkit.topology.migration.report import Outcome, Report
from mqkit.topology.migration.steps import Step

MIGRATION = Migration("/", Queue("q"), Queue("q", durable=False), Queue("q.migrating"))


def test_it_has_all_that_the_progress_has() -> None:
    window = InDoubt("q", "q.migrating", ("a", None), True)
    progress = Progress(MIGRATION, Step.EMPTY, moved=5, lost=1, in_doubt=(window,), remarks=("r",))
    report = Report.of(progress, Outcome.STOPPED, "consumers")
    assert json.loads(json.dumps(report.to_dict())) == {
        "queue": "q",
        "outcome": "stopped",
        "step": "empty",
        "moved": 5,
        "lost": 1,
        "in_doubt": [
            {
                "source": "q",
                "destination": "q.migrating",
                "ids": ["a", None],
                "with_confirms": True,
            }
        ],
        "remarks": ["r"],
        "why": "consumers",
    }


def test_nothing_to_do_has_no_step() -> None:
    assert Report("q", Outcome.NOTHING).to_dict()["step"] is None
