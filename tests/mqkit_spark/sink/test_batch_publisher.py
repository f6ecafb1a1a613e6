"""mqkit_spark.batch_publisher: a stream through foreachBatch, repeated under the same ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mqkit_spark
from mqkit.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WAIT_S = 90


def test_options_are_checked_at_once() -> None:
    with pytest.raises(ConfigurationError, match="unknown option 'exchagne'"):
        mqkit_spark.batch_publisher("amqp://h/", exchagne="x")
    with pytest.raises(ConfigurationError, match="option url is missing"):
        mqkit_spark.batch_publisher(exchange="x")


def test_a_repeated_batch_has_the_same_ids_and_its_report_says_what_became_of_it(
    spark: SparkSession, broker_url: str, target: Any, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.txt").write_text("a\nb\nc")
    df = spark.readStream.format("text").load(str(tmp_path / "in")).selectExpr("value as body")
    checkpoint = tmp_path / "checkpoint"
    topology = tmp_path / "topology.yaml"
    topology.write_text(f"queues:\n  {target.name}: {{}}\n")
    publisher = mqkit_spark.batch_publisher(
        url=broker_url, routing_key=target.name, max_publishers=1, topology=str(topology)
    )
    reports: list[mqkit_spark.PublishReport] = []

    def publish(batch: DataFrame, batch_id: int) -> None:
        reports.append(publisher.publish(batch, batch_id))

    query_id = ""
    for _ in range(2):
        writer = df.writeStream.foreachBatch(publish).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(checkpoint)).start()
        assert query.awaitTermination(WAIT_S)
        query_id = str(query.id)
        for name in ("0", ".0.crc"):
            (checkpoint / "commits" / name).unlink(missing_ok=True)

    assert [(each.job_id, each.rows, each.confirmed) for each in reports] == [
        (f"{query_id}/0", 3, 3)
    ] * 2
    got = sorted((properties.message_id, body) for _, body, properties in target.consume_all())
    assert got == sorted([(f"{query_id}/0/0/{row}", b"abc"[row : row + 1]) for row in range(3)] * 2)
