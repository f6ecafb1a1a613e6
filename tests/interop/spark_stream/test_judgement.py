"""The judgement finds each fault that there can be."""

from __future__ import annotations

from typing import Any

import pytest

from interop.spark_stream.facts import Facts, Kill
from interop.spark_stream.judgement import duplicates, faults


def facts(mode: str = "spool", **more: Any) -> Facts:
    found = Facts(3, mode, [Kill("driver", 4)])
    found.batches.update({"m0": [0], "m1": [4], "m2": [5]})
    for name, value in more.items():
        setattr(found, name, value)
    return found


def test_a_run_without_faults() -> None:
    one_batch = ["batches/2-b/00000.arrow", "batches/2-b/00001.arrow"]
    assert faults(facts(files_at_end=one_batch)) == []
    assert faults(facts("driver")) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"messages": 4}, "m3 is missing"),
        ({"messages": 2}, "m2 was never published"),
        ({"ready": 1}, "1 ready and 0 unacked"),
        ({"unacked": 2}, "0 ready and 2 unacked"),
        ({"files_at_end": ["batches/1-a/0.arrow", "batches/2-b/0.arrow"]}, "files of 2 batches"),
        ({"files_after_start": ["batches/1-a/0.arrow"]}, "after the next start"),
    ],
)
def test_a_fault_is_said(more: dict[str, Any], words: str) -> None:
    (fault,) = faults(facts(**more))
    assert words in fault


def test_twice_is_a_fault_of_the_spool_and_of_the_driver_far_from_a_kill() -> None:
    spool, near, far = facts(), facts("driver"), facts("driver")
    spool.batches["m1"].append(5)
    near.batches["m1"].append(5)
    far.batches["m0"].append(5)
    assert faults(spool) == ["m1 is there 2 times, in batches [4, 5]"]
    assert faults(near) == []
    assert faults(far) == ["m0 of batch 0 came again, and no kill was near that batch"]
    assert [duplicates(each) for each in (spool, near, far)] == [1, 1, 1]
