"""The rounds of a run."""

from __future__ import annotations

import pytest

from interop.spark_sink.plan import WAYS, Kind, rounds
from interop.spark_sink.rows import BATCHES_OF_PARTITION, PARTITIONS


@pytest.mark.parametrize("kind", Kind)
def test_a_seed_gives_the_same_rounds_again_and_another_gives_others(kind: Kind) -> None:
    assert rounds(kind, 20, 7) == rounds(kind, 20, 7)
    assert rounds(kind, 20, 7) != rounds(kind, 20, 8)


@pytest.mark.parametrize("seed", range(5))
def test_the_faults_are_in_the_middle_of_partitions_that_there_are(seed: int) -> None:
    for each in rounds(Kind.FAILING_TASK, 20, seed):
        assert set(each.faulty) <= set(range(PARTITIONS))
        assert 0 < each.after < BATCHES_OF_PARTITION


def test_all_ways_and_ids_come_in_turn() -> None:
    planned = rounds(Kind.KILLED_WORKER, len(WAYS), 5)
    assert {(each.way, each.ids) for each in planned} == set(WAYS)


def test_two_rounds_try_both_ways() -> None:
    assert len({each.way for seed in range(4) for each in rounds(Kind.SPECULATION, 2, seed)}) == 2


def test_one_task_is_slow_where_spark_speculates() -> None:
    assert all(len(each.faulty) == 1 for each in rounds(Kind.SPECULATION, 50, 1))
    assert any(len(each.faulty) == 2 for each in rounds(Kind.FAILING_TASK, 50, 1))
