"""Progress, told by records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.topology.migration.migration import Direction, Migration
from mqkit.topology.migration.progress import (
    REMARKS_MAX,
    InDoubt,
    Progress,
    progress_after,
)
from mqkit.topology.migration.steps import Event, Step
from mqkit.transitions import IllegalTransition

MIGRATION = Migration("/", Queue("q"), Queue("q", durable=False), Queue("q.migrating"))
BEGIN = {"record": "migration", "migration": MIGRATION.to_dict()}


def window(*ids: str, with_confirms: bool = False) -> dict[str, Any]:
    return {
        "record": "window",
        "source": "q",
        "destination": "q.migrating",
        "ids": list(ids),
        "with_confirms": with_confirms,
    }


def told(records: Sequence[dict[str, Any]]) -> Progress:
    progress: Progress | None = None
    for record in (BEGIN, *records):
        progress = progress_after(progress, record)
    assert progress is not None
    return progress


def done(step: Step, event: Event = Event.DONE) -> list[dict[str, Any]]:
    return [
        {"record": "begun", "step": str(step)},
        {"record": "done", "step": str(step), "event": str(event)},
    ]


def test_it_begins_with_a_migration() -> None:
    assert told([]) == Progress(MIGRATION)
    with pytest.raises(ValueError, match="does not begin"):
        progress_after(None, {"record": "begun", "step": "declare"})


def test_a_step_that_is_begun_is_the_next_one_still() -> None:
    assert told([*done(Step.DECLARE), {"record": "begun", "step": "gate"}]).step is Step.GATE
    assert told([*done(Step.DECLARE), *done(Step.GATE)]).step is Step.UNBIND
    with pytest.raises(ValueError, match="fetch is begun where declare is next"):
        told([{"record": "begun", "step": "fetch"}])


def test_an_abort_turns_back() -> None:
    records = [*done(Step.DECLARE), {"record": "abort", "event": str(Event.ABORT_OLD)}]
    progress = told(records)
    assert (progress.direction, progress.step) == (Direction.BACK, Step.RELEASE)


def test_counts_and_windows() -> None:
    committed = {"record": "committed", "count": 2}
    progress = told([window("a", "b"), committed, window("c"), {"record": "lost", "count": 1}])
    assert (progress.moved, progress.lost) == (2, 1)
    assert progress.window == InDoubt("q", "q.migrating", ("c",), False)
    assert progress.in_doubt == ()


def test_each_window_that_a_run_left_open_stays_in_doubt() -> None:
    committed = {"record": "committed", "count": 1}
    progress = told([window("a"), window("b"), committed, window("c", with_confirms=True)])
    found = progress.taken_up()
    assert [each.ids for each in found.in_doubt] == [("a",), ("c",)]
    assert [each.with_confirms for each in found.in_doubt] == [False, True]
    assert found.taken_up() == found


def test_a_new_migration_starts_over() -> None:
    assert told([*done(Step.DECLARE), window("a"), BEGIN]) == Progress(MIGRATION)


def test_remarks_are_told_once_and_bounded() -> None:
    records = [{"record": "remark", "text": f"{n % 150}"} for n in range(300)]
    assert told(records).remarks == tuple(map(str, range(REMARKS_MAX)))


@pytest.mark.parametrize(
    "record",
    [
        {"record": "nonsense"},
        {},
        {"record": "begun", "step": "fly"},
        {"record": "committed", "count": "many"},
        {"record": "window"},
    ],
)
def test_nonsense_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError, TypeError)):
        told([record])


def test_a_step_can_t_end_as_it_never_does() -> None:
    with pytest.raises(IllegalTransition):
        told(done(Step.DECLARE, Event.NOT_EMPTY))
