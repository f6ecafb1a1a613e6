"""A queue into Parquet files by Spark's streams, on both brokers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pika
import pyarrow.parquet as pq
import pytest

from mqkit_spark import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_AGAIN_S = 5

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


class Stream:
    """A query from a queue into files, which is run to the end of what lies there."""

    def __init__(self, spark: SparkSession, url: str, target: Any, folder: Path) -> None:
        self.spark = spark
        self.target = target
        self.folder = folder
        self.options = {
            "url": url,
            "queue": target.name,
            "spoolLocation": str(folder / "spool"),
            "maxOffsetsPerTrigger": "60",
            "minPartitions": "2",
        }

    def publish(self, begin: int, end: int) -> None:
        for number in range(begin, end):
            properties = pika.BasicProperties(message_id=f"m{number}", headers={"n": number})
            self.target.channel.basic_publish(
                "", self.target.name, str(number).encode(), properties
            )
        self.target.count()

    def run(self, **options: str) -> int:
        """Returns the number of batches."""
        rows = self.spark.readStream.format("amqp").options(**{**self.options, **options}).load()
        query = (
            rows.writeStream.format("parquet")
            .option("path", str(self.folder / "out"))
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        self.wait(query)
        return sum(progress.numInputRows > 0 for progress in query.recentProgress)

    def run_each(self, act: Callable[[DataFrame, int], None], **options: str) -> None:
        rows = self.spark.readStream.format("amqp").options(**{**self.options, **options}).load()
        place = str(self.folder / "checkpoint")
        writer = rows.writeStream.foreachBatch(act).option("checkpointLocation", place)
        self.wait(writer.trigger(availableNow=True).start())

    def wait(self, query: StreamingQuery) -> None:
        """Until its end; meanwhile the test's own connection is kept."""
        while not query.awaitTermination(LOOK_AGAIN_S):
            self.target.channel.connection.process_data_events()

    def bodies(self) -> list[int]:
        out = str(self.folder / "out")
        bodies = self.spark.read.parquet(out).select("body").collect()
        return sorted(int(row.body.decode()) for row in bodies)

    def data_files(self) -> list[Path]:
        return list((self.folder / "spool").glob("batches/*/*.arrow"))

    def set_back(self) -> None:
        """The newest batch was not finished, as the checkpoint has it."""
        commits = (self.folder / "checkpoint" / "commits").iterdir()
        newest = max((path for path in commits if path.name.isdigit()), key=lambda p: int(p.name))
        newest.unlink()
        newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


@pytest.fixture
def make_stream(
    spark: SparkSession, broker_url: str, target: Any, tmp_path: Path
) -> Callable[[], Stream]:
    register(spark)
    return lambda: Stream(spark, broker_url, target, tmp_path)


def test_spool_each_message_once_and_a_batch_that_runs_again_has_the_same_rows(
    make_stream: Callable[[], Stream],
) -> None:
    stream = make_stream()
    stream.publish(0, 80)
    assert stream.run() == 2
    assert stream.bodies() == list(range(80))
    assert stream.target.count() == 0
    # Spark asked for the next batch at the end, so the last one is known to be finished.
    assert stream.data_files() == []
    file = next(path for path in (stream.folder / "out").glob("*.parquet"))
    table = pq.read_table(file).to_pydict()
    assert dict(table["headers"][0]) == {"n": table["body"][0].decode()}
    assert {*table["redelivered"]} == {False}


def test_spool_a_batch_that_failed_after_it_was_read_has_the_same_rows_again(
    make_stream: Callable[[], Stream],
) -> None:
    stream = make_stream()
    stream.publish(0, 40)
    got: list[list[int]] = []

    def fail_first(batch: DataFrame, _: int) -> None:
        got.append(sorted(int(row.body.decode()) for row in batch.collect()))
        if len(got) == 1:
            raise RuntimeError("the batch fails after it was read")

    with pytest.raises(Exception, match="the batch fails after it was read"):
        stream.run_each(fail_first)
    assert stream.target.count() == 0
    stream.publish(40, 45)
    stream.run_each(fail_first)
    assert got == [list(range(40)), list(range(40)), list(range(40, 45))]
    assert stream.data_files() == []


def test_spool_fails_where_files_are_gone_and_goes_on_if_told_so(
    make_stream: Callable[[], Stream],
) -> None:
    """Into a sink that does not skip a batch that it has seen, as that of files does."""
    stream = make_stream()
    stream.publish(0, 30)
    got: list[int] = []

    def keep(batch: DataFrame, _: int) -> None:
        got.extend(sorted(int(row.body.decode()) for row in batch.collect()))

    stream.run_each(keep)
    stream.set_back()
    stream.publish(30, 40)
    with pytest.raises(Exception, match="batch 1 is asked for again, and its files are gone"):
        stream.run_each(keep)
    assert stream.target.count() == 10
    stream.run_each(keep, failOnDataLoss="false")
    assert stream.target.count() == 0
    assert got == list(range(40))


def test_driver_acks_what_is_finished(make_stream: Callable[[], Stream]) -> None:
    stream = make_stream()
    del stream.options["spoolLocation"]
    stream.publish(0, 80)
    assert stream.run(mode="driver") == 2
    assert stream.bodies() == list(range(80))
    assert stream.target.count() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spoolLocation": "s3a://bucket/x"}, "s3a: is not supported"),
        ({"maxOffsetsPerTriger": "5"}, "did you mean maxOffsetsPerTrigger"),
    ],
)
def test_what_cannot_work_is_refused_at_load(
    make_stream: Callable[[], Stream], options: dict[str, str], words: str
) -> None:
    stream = make_stream()
    with pytest.raises(Exception, match=words):
        stream.spark.readStream.format("amqp").options(**{**stream.options, **options}).load()
