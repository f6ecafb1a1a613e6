"""``df.writeStream.format("amqp")`` in a real Spark: killed, stopped, started again, repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mqkit_spark import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 2000
WAIT_S = 90


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    register(spark)


def rows_of(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream of the lines of text files, a file each batch."""
    files = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
    return files.load(str(folder)).selectExpr("lpad(value, 500, '0') as body")


def run(df: DataFrame, checkpoint: Path, **options: str) -> str:
    """Publish what is there; returns the query's id."""
    writer = df.writeStream.format("amqp").option("checkpointLocation", str(checkpoint))
    query = writer.options(**options).trigger(availableNow=True).start()
    assert query.awaitTermination(WAIT_S)
    return str(query.id)


def add_file(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    text = "\n".join(str(number * ROWS + row) for row in range(ROWS))
    (folder / f"{number}.txt").write_text(text)


def test_a_batch_that_is_repeated_is_published_under_the_same_ids(
    spark: SparkSession,
    broker: Any,
    make_queue: Callable[..., Any],
    kill_once: Callable[[str], Callable[..., Any]],
    tmp_path: Path,
) -> None:
    copies, once = make_queue(), make_queue({"x-message-id-window": 100_000})
    exchange = copies.name + "-exchange"
    copies.channel.exchange_declare(exchange, "fanout", auto_delete=True)
    for queue in (copies, once):
        queue.channel.queue_bind(queue.name, exchange)
    source, checkpoint, reports = tmp_path / "in", tmp_path / "checkpoint", tmp_path / "reports"
    options = {
        "url": broker.url,
        "exchange": exchange,
        "dedup": "true",
        "deterministic": "true",
        "reportPath": str(reports),
    }

    # The Python worker that publishes the first batch is killed once, in the middle of it.
    add_file(source, 0)
    df = rows_of(spark, source)
    dying = df.mapInArrow(kill_once(copies.name), "body string")
    query_id = run(dying, checkpoint, **options)
    assert (tmp_path / "killed").exists()

    # The query is started again, and has another batch; which Spark believes not to be done.
    add_file(source, 1)
    assert run(df, checkpoint, **options) == query_id
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    assert run(df, checkpoint, **options) == query_id

    wanted = {f"{query_id}/{batch}/0/{row}" for batch in range(2) for row in range(ROWS)}
    bodies: dict[str, list[bytes]] = {}
    for _, body, properties in copies.consume_all():
        bodies.setdefault(properties.message_id, []).append(body)
    assert set(bodies) == wanted
    assert all(len(set(each)) == 1 for each in bodies.values()), "one id, one message"
    assert sum(len(bodies[each]) for each in wanted if f"{query_id}/0/" in each) > ROWS
    assert {len(bodies[each]) for each in wanted if f"{query_id}/1/" in each} == {2}
    if broker.is_reference:
        ids = [properties.message_id for _, _, properties in once.consume_all()]
        assert sorted(ids) == sorted(wanted), "each message is there exactly once"

    lines = [json.loads(line) for line in reports.read_text().splitlines()]
    assert [(each["batch_id"], each["job_id"]) for each in lines] == [
        (batch, f"{query_id}/{batch}") for batch in (0, 1, 1)
    ]
    assert {(each["rows"], each["confirmed"]) for each in lines} == {(ROWS, ROWS)}
    assert [each["retried_tasks"] for each in lines] == [1, 0, 0]


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ("value as body", {"exchagne": "x"}, "did you mean exchange?"),
        ("value as body", {"exchange": "x", "dedup": "true"}, "the ids are automatic"),
        ("struct(*) as body", {"exchange": "x"}, "with to_json(struct(*)) as body"),
    ],
)
def test_what_cannot_work_ends_the_query_before_a_row_is_read(
    spark: SparkSession, tmp_path: Path, columns: str, options: dict[str, str], words: str
) -> None:
    add_file(tmp_path / "in", 0)
    df = spark.readStream.format("text").load(str(tmp_path / "in")).selectExpr(columns)
    with pytest.raises(Exception, match="ConfigurationError") as error:
        run(df, tmp_path / "checkpoint", url="amqp://me:hunter2@127.0.0.1:1/", **options)
    assert words in str(error.value)
    assert "hunter2" not in str(error.value)
