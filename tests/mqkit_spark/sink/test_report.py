"""mqkit_spark.sink.report: sums, and that nothing is passed over."""

from __future__ import annotations

import pytest

from mqkit_spark.sink.report import PublishFailed, PublishReport, TaskReport, job_id_of, total


def test_a_job_is_the_sum_of_its_tasks() -> None:
    tasks = [
        TaskReport(
            *(0, 0, "job", 10),
            confirmed=7,
            unroutable=2,
            bad_rows=1,
            dead_lettered=3,
            resent=3,
            body_bytes=70,
            seconds=2.0,
        ),
        TaskReport(1, 2, rows=5, confirmed=5, body_bytes=50, seconds=2.5, blocked_seconds=1.5),
    ]
    assert total("job", tasks) == PublishReport(
        job_id="job",
        tasks=2,
        retried_tasks=1,
        rows=15,
        confirmed=12,
        unroutable=2,
        bad_rows=1,
        dead_lettered=3,
        resent=3,
        body_bytes=120,
        task_seconds=4.5,
        blocked_seconds=1.5,
    )


def test_a_row_that_is_not_accounted_for_fails_the_job() -> None:
    with pytest.raises(PublishFailed, match="10 rows, but 9 confirmed"):
        total("job", [TaskReport(0, 0, rows=10, confirmed=9)])


def test_more_dead_letters_than_rows_that_failed_are_a_fault_too() -> None:
    with pytest.raises(PublishFailed, match="2 dead letters"):
        total("job", [TaskReport(0, 0, rows=1, unroutable=1, dead_lettered=2)])


def test_the_job_is_what_its_tasks_say() -> None:
    assert job_id_of([TaskReport(0, 0, "q/7")], "batch 7") == "q/7"
    assert job_id_of([], "batch 7") == "batch 7"


def test_a_report_shows_every_count() -> None:
    words = str(total("job", [TaskReport(0, 0, rows=3, confirmed=3, seconds=0.25)]))
    assert words.startswith("job_id=job tasks=1 retried_tasks=0 rows=3 confirmed=3 unroutable=0")
    assert "task_seconds=0.250" in words


def test_a_report_survives_its_way_to_the_caller() -> None:
    report = TaskReport(1, 2, rows=3, confirmed=3, first_id="j/1/0", last_id="j/1/2")
    assert TaskReport.from_json(report.to_json()) == report
