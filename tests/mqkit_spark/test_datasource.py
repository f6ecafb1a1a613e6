"""``df.write.format("amqp")`` in a real Spark, into a real broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pika
import pytest

from mqkit_spark import register

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    register(spark)


def numbered(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    return spark.range(0, count, 1, partitions).selectExpr("cast(id as string) as body")


def save(df: DataFrame, url: str, mode: str = "append", **options: str) -> None:
    df.write.format("amqp").mode(mode).option("url", url).options(**options).save()


def test_each_row_is_in_the_queue_once_under_a_stable_id(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    save(numbered(spark, 1000), broker_url, routingKey=target.name, jobId="nightly")
    got = target.consume_all()
    assert sorted(int(body) for _, body, _ in got) == list(range(1000))
    ids = {properties.message_id for _, _, properties in got}
    assert ids == {f"nightly/{p}/{row}" for p in range(2) for row in range(500)}
    assert {properties.delivery_mode for _, _, properties in got} == {2}


def test_every_column_arrives(spark: SparkSession, broker_url: str, target: Any) -> None:
    exchange = target.name + "-exchange"
    target.channel.exchange_declare(exchange, "topic", auto_delete=True)
    target.channel.queue_bind(target.name, exchange, "flights.#")
    df = spark.sql(
        """select unhex('00FF') as body, 'flights.DTW' as routing_key,
           map('origin', 'DTW', 'nothing', cast(null as string)) as headers,
           'id-1' as message_id, 'x/y' as content_type, 'gzip' as content_encoding,
           'c' as correlation_id, 'r' as reply_to, 't' as type, 'a' as app_id,
           cast(3 as tinyint) as priority, 60000 as expiration_ms,
           timestamp'2001-01-01 00:47:00Z' as timestamp"""
    )
    save(df, broker_url, exchange=exchange)
    ((routing_key, body, properties),) = target.consume_all()
    assert (routing_key, body) == ("flights.DTW", b"\x00\xff")
    assert properties.headers == {"origin": "DTW", "nothing": None}
    assert (properties.message_id, properties.content_type) == ("id-1", "x/y")
    assert (properties.content_encoding, properties.correlation_id) == ("gzip", "c")
    assert (properties.reply_to, properties.type, properties.app_id) == ("r", "t", "a")
    assert (properties.priority, properties.expiration) == (3, "60000")
    assert properties.timestamp == 978310020


@pytest.mark.parametrize(
    ("sql", "mode", "options", "words"),
    [
        ("select 'x' as body", "append", {"exchagne": "x"}, "did you mean exchange?"),
        ("select 'x' as body", "append", {}, "nothing says where to"),
        ("select 1 as body", "append", {"exchange": "x"}, "column 'body' is int"),
        ("select 1 as delay", "append", {"exchange": "x"}, "there is no column 'body'"),
        ("select 'x' as body", "overwrite", {"exchange": "x"}, "a queue can't be overwritten"),
    ],
)
def test_what_cannot_work_is_refused_before_a_row_is_read(
    spark: SparkSession, sql: str, mode: str, options: dict[str, str], words: str
) -> None:
    with pytest.raises(Exception, match="ConfigurationError") as error:
        save(spark.sql(sql), "amqp://me:hunter2@127.0.0.1:1/", mode, **options)
    assert words in str(error.value)
    assert "hunter2" not in str(error.value)


def test_an_empty_dataframe_opens_no_connection(spark: SparkSession) -> None:
    save(numbered(spark, 0), "amqp://127.0.0.1:1/", routingKey="q")


def test_an_unroutable_message_fails_the_job_and_says_which(
    spark: SparkSession, broker_url: str
) -> None:
    with pytest.raises(Exception, match="PublishFailed") as error:
        save(numbered(spark, 10), broker_url, routingKey="no-queue-of-ours", jobId="j")
    assert "is unroutable: no queue is bound to exchange '' for routing key" in str(error.value)


def test_a_bad_row_fails_the_job_or_is_dropped(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    df = spark.createDataFrame([("a",), (None,), ("c",)], "body string").coalesce(1)
    with pytest.raises(Exception, match="row 1 of partition 0 can't be a message: body is null"):
        save(df, broker_url, routingKey=target.name)
    target.channel.queue_purge(target.name)
    save(df, broker_url, routingKey=target.name, onBadRow="drop")
    assert [body for _, body, _ in target.consume_all()] == [b"a", b"c"]


def fail_once(
    url: str, queue: str
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """Fails partition 1 at its first attempt, at a moment when some of it is in the queue."""

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from batches
        if context.partitionId() == 1 and context.attemptNumber() == 0:
            with pika.BlockingConnection(pika.URLParameters(url)) as connection:
                channel = connection.channel()
                for method, properties, _ in channel.consume(queue, inactivity_timeout=20):
                    assert method is not None, "nothing of the first attempt was published"
                    if properties.message_id.startswith("retried/1/"):
                        break
            raise RuntimeError("the first attempt fails after it has published")

    return run


def test_a_task_that_runs_again_publishes_the_same_messages_under_the_same_ids(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    bodies = spark.range(0, 4000, 1, 2).selectExpr("lpad(id, 1000, '0') as body")
    df = bodies.mapInArrow(fail_once(broker_url, target.name), "body string")
    save(df, broker_url, routingKey=target.name, jobId="retried")
    by_id: dict[str, set[bytes]] = {}
    copies = 0
    for _, body, properties in target.consume_all():
        by_id.setdefault(properties.message_id, set()).add(body)
        copies += 1
    assert set(by_id) == {f"retried/{p}/{row}" for p in range(2) for row in range(2000)}
    assert all(len(bodies) == 1 for bodies in by_id.values()), "one id, one message"
    assert copies > 4000, "the first attempt had published some already"


def test_a_worker_that_is_killed_while_it_publishes_loses_nothing(
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
    bodies = spark.range(0, 2000, 1, 1).selectExpr("lpad(id, 1000, '0') as body")
    df = bodies.mapInArrow(kill_once(copies.name), "body string")
    options = {"exchange": exchange, "jobId": "killed", "dedup": "true", "deterministic": "true"}
    save(df, broker.url, **options, reportPath=str(tmp_path / "reports"))
    assert (tmp_path / "killed").exists()
    ids = [properties.message_id for _, _, properties in copies.consume_all()]
    wanted = {f"killed/0/{row}" for row in range(2000)}
    assert set(ids) == wanted
    assert len(ids) > 2000, "the worker that was killed had published some already"
    if broker.is_reference:
        assert sorted(p.message_id for _, _, p in once.consume_all()) == sorted(wanted)
    (report,) = map(json.loads, (tmp_path / "reports").read_text().splitlines())
    assert (report["job_id"], report["rows"], report["retried_tasks"]) == ("killed", 2000, 1)


def test_bad_rows_and_what_no_queue_takes_are_dead_lettered_and_counted(
    spark: SparkSession, broker_url: str, target: Any, make_queue: Callable[..., Any], tmp_path: Any
) -> None:
    dead = make_queue()
    rows = [("a", target.name), (None, target.name), ("c", "no-queue-of-ours"), ("d", target.name)]
    df = spark.createDataFrame(rows, "body string, routing_key string").coalesce(1)
    topology = tmp_path / "topology.yaml"
    topology.write_text(f"queues:\n  {target.name}: {{}}\n")
    policies = {"onBadRow": "deadletter", "onUnroutable": "deadletter"}
    place = {"deadLetterExchange": "", "deadLetterRoutingKey": dead.name}
    reports = tmp_path / "reports"
    save(df, broker_url, **policies, **place, reportPath=str(reports), topology=str(topology))
    assert [body for _, body, _ in target.consume_all()] == [b"a", b"d"]
    letters = {
        properties.headers["x-mqkit-row"]: (body, properties.headers["x-mqkit-error"])
        for _, body, properties in dead.consume_all()
    }
    assert letters[1] == (b"", "bad row: body is null")
    assert letters[2][0] == b"c"
    assert letters[2][1].startswith("unroutable: no queue is bound to exchange ''")
    (report,) = map(json.loads, reports.read_text().splitlines())
    counts = {name: report[name] for name in ("rows", "confirmed", "unroutable", "bad_rows")}
    assert counts == {"rows": 4, "confirmed": 2, "unroutable": 1, "bad_rows": 1}
    assert report["dead_lettered"] == 2


def test_a_topology_that_cannot_be_applied_fails_before_a_row_is_read(
    spark: SparkSession, broker_url: str, target: Any, tmp_path: Any
) -> None:
    topology = tmp_path / "topology.yaml"
    topology.write_text(f"queues:\n  {target.name}: {{message_ttl: 1d}}\n")
    with pytest.raises(Exception, match="can't be applied: queue"):
        save(numbered(spark, 10), broker_url, routingKey=target.name, topology=str(topology))
    assert target.count() == 0


def test_flight_records_arrive_whole(
    spark: SparkSession, broker_url: str, target: Any, tmp_path: Any
) -> None:
    records = [
        {"date": f"2001/01/01 00:{n % 60:02}", "delay": n % 90 - 20, "origin": origin, "n": n}
        for n, origin in enumerate(["DTW", "HNL", "LAS", "MHT"] * 125)
    ]
    source = tmp_path / "flights.json"
    source.write_text("\n".join(map(json.dumps, records)))
    df = spark.read.json(str(source)).selectExpr(
        "to_json(struct(*)) as body",
        "map('origin', origin) as headers",
        "concat('flight-', n) as message_id",
    )
    save(df, broker_url, routingKey=target.name, contentType="application/json", maxInFlight="50")
    got = target.consume_all()
    assert sorted((json.loads(body) for _, body, _ in got), key=lambda r: r["n"]) == records
    assert {properties.message_id for _, _, properties in got} == {
        f"flight-{n}" for n in range(500)
    }
