"""mqkit_spark.publish: the sink as one call that returns counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import mqkit_spark
from mqkit.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_the_report_counts_what_the_queue_holds(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    df = spark.range(0, 1000, 1, 4).selectExpr("repeat('x', 10) as body")
    report = mqkit_spark.publish(
        df, broker_url, routing_key=target.name, job_id="j", max_publishers=2
    )
    assert report.task_seconds > 0
    assert replace(report, task_seconds=0) == mqkit_spark.PublishReport(
        job_id="j",
        tasks=2,
        retried_tasks=0,
        rows=1000,
        confirmed=1000,
        unroutable=0,
        bad_rows=0,
        dead_lettered=0,
        resent=0,
        body_bytes=10_000,
        task_seconds=0,
        blocked_seconds=0.0,
    )
    ids = [properties.message_id for _, _, properties in target.consume_all()]
    assert set(ids) == {f"j/{p}/{row}" for p in range(2) for row in range(500)}
    assert len(ids) == 1000


def test_what_was_dropped_is_counted(spark: SparkSession, broker_url: str, target: Any) -> None:
    df = spark.createDataFrame(
        [("a", target.name), (None, target.name), ("c", "no-queue-of-ours")],
        "body string, routing_key string",
    )
    report = mqkit_spark.publish(df, broker_url, on_bad_row="drop", on_unroutable="drop")
    assert (report.rows, report.confirmed) == (3, 1)
    assert (report.unroutable, report.bad_rows) == (1, 1)
    assert report.job_id


def test_an_empty_dataframe_publishes_nothing(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "body string")
    report = mqkit_spark.publish(df, "amqp://127.0.0.1:1/", exchange="x")
    assert (report.rows, report.confirmed) == (0, 0)


def test_options_and_columns_are_checked_at_once(spark: SparkSession) -> None:
    df = spark.createDataFrame([("x",)], "boddy string")
    with pytest.raises(ConfigurationError, match="there is no column 'body'"):
        mqkit_spark.publish(df, "amqp://127.0.0.1:1/", exchange="x")
    with pytest.raises(ConfigurationError, match="unknown option 'exchagne'"):
        mqkit_spark.publish(df, "amqp://127.0.0.1:1/", exchagne="x")


def test_speculation_is_warned_of(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    df = spark.createDataFrame([], "body string")
    monkeypatch.setattr(type(spark.conf), "get", lambda *_: "true")
    with pytest.warns(UserWarning, match="spark.speculation is on"):
        mqkit_spark.publish(df, "amqp://127.0.0.1:1/", exchange="x")
