"""Each hunt has a process of its own."""

from __future__ import annotations

import pytest

from mutants.parallel import counted, hunted
from mutants.registry import MUTANTS


@pytest.mark.slow
def test_all_hunts_end_and_leave_no_patch_for_each_other() -> None:
    names = ["queues.prefetch_ignored", "store.no_directory_sync", "features.released_early"]
    ends = {end.mutant: end.law for end in hunted([MUTANTS[name] for name in names], 3, 1)}
    assert ends == dict(zip(names, ["prefetch", "definitions", "delayed"], strict=True))


@pytest.mark.slow
def test_a_census_plays_each_seed_in_a_process_of_its_own() -> None:
    (census,) = counted([MUTANTS["queues.prefetch_ignored"]], 2, 1)
    assert (census.mutant, census.seeds) == ("queues.prefetch_ignored", 2)
    assert census.failures
