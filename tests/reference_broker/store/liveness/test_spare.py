from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.store.disk.ports import CreateFile, Operation, RenameFile, SyncDirectory
from reference_broker.store.format.segment import SPARE_FILE
from reference_broker.store.liveness.spare import TRANSITIONS, Spare, SpareState


def test_it_is_asked_for_once_and_used_once() -> None:
    spare = Spare()
    assert spare.ask(100)
    assert not spare.ask(100)
    assert not spare.take(100)  # nobody knows yet
    spare.answered(missing=False)
    assert spare.take(100)
    assert not spare.take(100)
    assert spare.ask(100)


def test_a_missing_one_is_asked_for_again_only_when_told_to() -> None:
    spare = Spare()
    spare.ask(100)
    spare.answered(missing=True)
    assert not spare.take(100)
    assert not spare.ask(100)
    spare.retry()
    assert spare.ask(100)


def test_it_serves_what_is_not_larger_than_it() -> None:
    spare = Spare(50)  # that is there already
    assert not spare.ask(100)
    assert not spare.take(51)
    assert spare.take(50)
    assert spare.ask(100)
    spare.answered(missing=False)
    assert not spare.take(101)
    assert spare.take(99)


def test_a_segment_that_was_begun_before_it_came_becomes_it() -> None:
    spare = Spare(50)
    large, small, later = CreateFile("large", 60), CreateFile("small", 50), CreateFile("later", 50)
    operations: list[Operation] = [large, SyncDirectory(), small, later]
    spare.use_in(operations)
    assert operations == [large, SyncDirectory(), RenameFile(SPARE_FILE, "small"), later]
    assert spare.ask(50)
    spare.use_in(operations)
    assert operations[-1] is later


def test_it_grows_where_it_is_wanted_larger_and_stays_as_it_was_without_room() -> None:
    spare = Spare(50)
    spare.want(80)
    spare.want(70)
    assert spare.ask(50) == 80
    assert not spare.ask(50)
    assert not spare.take(50)  # nobody knows its size
    spare.answered(missing=True)
    assert spare.missing
    assert not spare.ask(50)
    spare.retry()
    assert spare.missing
    assert spare.ask(50) == 80
    spare.answered(missing=False)
    assert not spare.missing
    assert spare.size_bytes == 80
    assert spare.take(80)
    assert spare.ask(50) == 50, "the usual one first"
    spare.answered(missing=False)
    spare.want_no_more()
    assert not spare.ask(50)


def test_what_is_wanted_less_may_grow_where_more_was_refused() -> None:
    spare = Spare(50)
    spare.want(80)
    spare.ask(50)
    spare.answered(missing=True)
    spare.want_no_more()
    spare.want(60)
    assert not spare.missing
    assert spare.ask(50) == 60


EVENTS: tuple[Callable[[Spare], object], ...] = (
    lambda spare: spare.ask(100),
    lambda spare: spare.take(0),
    lambda spare: spare.retry(),
)


@pytest.mark.parametrize("state", SpareState)
def test_what_comes_at_the_wrong_time_changes_nothing(state: SpareState) -> None:
    for event in EVENTS:
        spare = Spare()
        spare.state = state
        event(spare)
        assert spare.state is state or spare.state in TRANSITIONS[state]
    spare = Spare()
    spare.state = state
    spare.answered(missing=False)
    on_its_way = state in (SpareState.ASKED, SpareState.GROWING)
    assert spare.state is (SpareState.READY if on_its_way else state)
