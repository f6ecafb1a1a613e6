"""Checkpoint and spool folder: do they belong together?"""

from __future__ import annotations

import pytest

from mqkit_spark.source.stream.offset import START, Offset
from mqkit_spark.source.stream.spool.faults import DataLoss, SpoolError
from mqkit_spark.source.stream.spool.lineage import Following, Standing, follow


def batch(number: int) -> Offset:
    return Offset(number, f"{number:016x}", 10, 1)


def taken(number: int) -> Standing:
    return Standing(batch(number), is_taken=True)


def planned(number: int) -> Standing:
    return Standing(batch(number), is_taken=False)


def go(
    start: Offset, last: Offset | None, *standing: Standing, fail_on_data_loss: bool = True
) -> Following:
    return follow(start, last, standing, fail_on_data_loss=fail_on_data_loss)


def test_a_new_query_begins_in_a_new_folder() -> None:
    assert go(START, None) == Following((), None, 1)


def test_a_batch_that_was_planned_and_perhaps_not_logged_is_given_again() -> None:
    assert go(START, None, planned(1)) == Following((), batch(1), 2)
    assert go(batch(1), None, taken(1), planned(2)) == Following([batch(1)], batch(2), 3)


def test_finished_batches_are_settled() -> None:
    assert go(batch(2), batch(1), taken(2)) == Following([batch(2)], None, 3)
    assert go(batch(2), batch(2)) == Following([], None, 3)
    # Its process died when it had written the history and not yet removed the folder.
    assert go(batch(2), batch(2), taken(2)) == Following([batch(2)], None, 3)


def test_a_checkpoint_set_back_by_one_gets_the_same_batch_again() -> None:
    assert go(batch(4), batch(4), taken(5)) == Following([], batch(5), 6)


@pytest.mark.parametrize(
    ("start", "last", "standing"),
    [
        (START, batch(3), ()),
        (START, None, (taken(1),)),
        (Offset(3, "f" * 16, 10, 1), batch(3), ()),
        (batch(7), batch(3), (planned(4),)),
        (Offset(4, "f" * 16, 10, 1), batch(3), (taken(4),)),
    ],
)
def test_another_checkpoint_is_refused_whatever_is_said_of_loss(
    start: Offset, last: Offset | None, standing: tuple[Standing, ...]
) -> None:
    for said in (True, False):
        with pytest.raises(SpoolError, match="another checkpoint"):
            go(start, last, *standing, fail_on_data_loss=said)


@pytest.mark.parametrize(
    ("start", "last", "standing", "again", "number", "words"),
    [
        (batch(7), None, (), None, 8, "the spool folder is new"),
        (batch(5), batch(7), (), None, 8, "was set back to batch 5"),
        (batch(5), batch(7), (taken(8),), batch(8), 9, "was set back to batch 5"),
    ],
)
def test_lost_files_fail_the_query_unless_it_says_otherwise(
    start: Offset,
    last: Offset | None,
    standing: tuple[Standing, ...],
    again: Offset | None,
    number: int,
    words: str,
) -> None:
    with pytest.raises(DataLoss, match=words):
        go(start, last, *standing)
    following = go(start, last, *standing, fail_on_data_loss=False)
    assert (following.again, following.number) == (again, number)
    assert following.lost is not None
    assert words in following.lost
