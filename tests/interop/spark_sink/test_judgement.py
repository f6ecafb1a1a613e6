"""The judgement of a batch job: each broken promise is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from interop.spark_sink.judgement import Found, did_not_come, faults
from interop.spark_sink.rows import Row

ROWS = {f"key-{n}": Row(f"row {n}".encode(), n // 2) for n in range(4)}
ONCE = Counter({(name, row.body): 1 for name, row in ROWS.items()})
REPORT = {
    "rows": 4,
    "confirmed": 4,
    "unroutable": 0,
    "bad_rows": 0,
    "resent": 0,
    "body_bytes": 20,
    "tasks": 2,
    "retried_tasks": 1,
}
TWICE = ("key-3", b"row 3")
GOOD = Found(
    rows=ROWS,
    plain=ONCE + Counter([TWICE]),
    window=ONCE,
    attempts={0: 1, 1: 2},
    report=REPORT,
)


def test_what_must_be_is_no_fault() -> None:
    assert faults(GOOD) == []
    assert GOOD.copies == 1
    assert faults(replace(GOOD, window=None)) == []


def test_a_row_is_missing() -> None:
    lost = GOOD.plain.copy()
    del lost["key-0", b"row 0"]
    assert faults(replace(GOOD, plain=lost, window=None)) == [
        "key-0 is missing",
        "the report has confirmed=4, and it is 3",
    ]


def test_an_id_is_of_no_row_and_a_row_has_the_body_of_another() -> None:
    foreign = GOOD.plain + Counter([("job/0/0", b"row 0")])
    assert "job/0/0 is of no row" in faults(replace(GOOD, plain=foreign))
    wrong = GOOD.plain + Counter([("key-1", b"row 2")])
    assert "key-1 has the body b'row 2'" in faults(replace(GOOD, plain=wrong))


def test_behind_the_window_a_row_is_missing_or_there_twice() -> None:
    assert faults(replace(GOOD, window=GOOD.plain)) == [
        "behind the window: key-3 is there 2 times",
        "the report has confirmed=4, and it is 5",
    ]
    lost = ONCE.copy()
    del lost["key-2", b"row 2"]
    assert "behind the window: key-2 is missing" in faults(replace(GOOD, window=lost))


def test_a_copy_that_no_attempt_explains() -> None:
    again = GOOD.plain + Counter([("key-0", b"row 0")])
    assert faults(replace(GOOD, plain=again)) == [
        "key-0 is there 2 times, of 1 attempts, 0 sent again"
    ]
    assert faults(replace(GOOD, plain=again, report={**REPORT, "resent": 1})) == []


def test_a_report_that_the_queues_do_not_bear_out() -> None:
    for name in ("rows", "confirmed", "unroutable", "bad_rows", "body_bytes", "tasks"):
        (fault,) = faults(replace(GOOD, report={**REPORT, name: 99}))
        assert fault.startswith(f"the report has {name}=99, and it is ")


def test_retried_tasks_are_known_unless_two_attempts_ran_at_a_time() -> None:
    first_won = replace(GOOD, report={**REPORT, "retried_tasks": 0})
    assert faults(first_won) == ["the report has retried_tasks=0, and it is 1 to 1"]
    assert faults(replace(first_won, speculates=True)) == []


def test_a_worker_that_was_killed_before_its_first_row_leaves_no_mark() -> None:
    both = {**REPORT, "retried_tasks": 2}
    assert faults(replace(GOOD, report=both)) != []
    assert faults(replace(GOOD, report=both, kills=1)) == []
    assert faults(replace(GOOD, report={**REPORT, "retried_tasks": 3}, kills=5)) != []


def test_a_round_whose_fault_did_not_come_proves_nothing() -> None:
    assert did_not_come([1], GOOD) == []
    assert did_not_come([0, 1], GOOD) == ["the fault in partition 0 did not come"]
