"""mqkit_spark.sink.report: sums, and that nothing is passed over."""

from __future__ import annotations

import pytest

from mqkit_spark.sink.report import PublishFailed, PublishReport, TaskReport, total


def test_a_job_is_the_sum_of_its_tasks() -> None:
    tasks = [
        TaskReport(0, 0, rows=10, confirmed=7, unroutable=2, bad_rows=1, resent=3, body_bytes=70),
        TaskReport(1, 2, rows=5, confirmed=5, body_bytes=50, blocked_seconds=1.5),
    ]
    assert total("job", tasks) == PublishReport(
        job_id="job",
        tasks=2,
        retried_tasks=1,
        rows=15,
        confirmed=12,
        unroutable=2,
        bad_rows=1,
        resent=3,
        body_bytes=120,
        blocked_seconds=1.5,
    )


def test_a_row_that_is_not_accounted_for_fails_the_job() -> None:
    with pytest.raises(PublishFailed, match="10 rows, but 9 confirmed"):
        total("job", [TaskReport(0, 0, rows=10, confirmed=9)])


def test_a_report_survives_its_way_to_the_caller() -> None:
    report = TaskReport(1, 2, rows=3, confirmed=3, first_id="j/1/0", last_id="j/1/2")
    assert TaskReport.from_json(report.to_json()) == report
