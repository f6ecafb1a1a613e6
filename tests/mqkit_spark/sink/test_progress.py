"""mqkit_spark.sink.progress: the bar, and that it shows the tasks of its own job."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from mqkit_spark.sink.progress import JOB_GROUP, WIDTH, Bar, bar, progress_bar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_bar_is_as_full_as_the_tasks_are_done() -> None:
    assert bar(1, 2) == f"publish [{'#' * 20}{'.' * 20}] 1/2 tasks"
    assert bar(0, 0) == f"publish [{'.' * WIDTH}] 0/0 tasks"
    assert "." not in bar(7, 7)


def test_a_state_is_shown_once_and_nothing_without_tasks() -> None:
    stream = io.StringIO()
    shown = Bar(stream)
    shown.show(0, 0)
    shown.end()
    assert stream.getvalue() == ""
    for done in (0, 1, 1, 2):
        shown.show(done, 2)
    shown.end()
    assert stream.getvalue().count("\r") == 3
    assert stream.getvalue().endswith("2/2 tasks\n")


@pytest.mark.spark
@pytest.mark.slow
def test_the_tasks_of_the_block_are_shown(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.sparkContext.setLocalProperty(JOB_GROUP, "mine")
    try:
        with progress_bar(spark):
            spark.range(0, 10, 1, 3).mapInArrow(lambda batches: batches, "id long").collect()
        assert spark.sparkContext.getLocalProperty(JOB_GROUP) == "mine", "it is given back"
    finally:
        spark.sparkContext.setLocalProperty(JOB_GROUP, None)  # type: ignore[arg-type]
    assert capsys.readouterr().err.endswith("3/3 tasks\n")
