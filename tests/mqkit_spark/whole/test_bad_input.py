"""Bad input through Spark, in the words that a user sees: Spark prints a traceback, and its last
line must be ours and say it all. Before the first row where that can be known, else with the row's
id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pika
import pyarrow
import pytest

import mqkit_spark
from mqkit.errors import ConfigurationError
from mqkit_spark.columns.schema import COLUMN_TYPES, Columns
from mqkit_spark.options import MessageIds, SinkOptions
from mqkit_spark.sink.task import publish_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CONFIGURATION = "mqkit.errors.ConfigurationError"
PUBLISH_FAILED = "mqkit_spark.sink.report.PublishFailed"
OF_SPARK = " SQLSTATE:"
"""Spark's own end of an error of the planner."""
COLUMNS = f"(columns: {', '.join(COLUMN_TYPES)})"
NEVER = "cast(raise_error('a row was read') as string)"
"""A column that nobody must compute."""
NO_EXCHANGE = (
    "option exchange: the broker has no exchange 'nope' (404 NOT_FOUND - no exchange 'nope' in"
    " vhost '/'); declare it, for example with option topology"
)
REFERENCE_BYTES_MAX = 16 * 1024 * 1024
RABBITMQ_BYTES_MAX = 128 * 1024 * 1024


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    mqkit_spark.register(spark)


def save(df: DataFrame, url: str, **options: object) -> None:
    given = {name: str(value) for name, value in options.items()}
    df.write.format("amqp").mode("append").option("url", url).options(**given).save()


def last_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    while lines[-1].startswith(OF_SPARK):
        lines.pop()
    return lines[-1]


def refused(run: Callable[[], object]) -> str:
    """The last line that Spark shows of an error."""
    with pytest.raises(Exception) as error:
        run()
    assert "hunter2" not in str(error.value)
    return last_line(error.value)


@pytest.mark.parametrize(
    ("sql", "options", "words"),
    [
        ("'x' as body", {"exchagne": "x"}, "unknown option 'exchagne'; did you mean exchange?"),
        (
            "'x' as text",
            {},
            "column 'text' has no meaning for AMQP; put it into body or headers, or drop it; there"
            " is no column 'body'; make one, for example with to_json(struct(*)) as body"
            f" {COLUMNS}",
        ),
        (
            "'x' as body, 'high' as priority",
            {},
            f"column 'priority' is string, expected bigint or int or smallint or tinyint {COLUMNS}",
        ),
        ("'x' as body", {"maxInFlight": "0"}, "maxInFlight must be at least 1"),
    ],
)
def test_options_and_columns_are_refused_before_the_first_row(
    spark: SparkSession,
    reference_broker: Any,
    sql: str,
    options: dict[str, str],
    words: str,
) -> None:
    df = spark.sql(f"select {sql}")
    said = refused(lambda: save(df, reference_broker.url, routingKey="q", **options))
    assert said == f"{CONFIGURATION}: {words}"


def test_a_wrong_password_is_refused_before_the_first_row(
    spark: SparkSession, broker: Any, target: Any
) -> None:
    df = spark.sql(f"select {NEVER} as body")
    url = broker.url.replace("guest:guest", "guest:hunter2")
    refusal = (
        "the broker refuses the user, the password or the vhost of the URL: 403 ACCESS_REFUSED"
    )
    said = refused(lambda: save(df, url, routingKey=target.name))
    assert said.startswith(f"{CONFIGURATION}: {refusal} - "), said
    with pytest.raises(ConfigurationError, match=refusal):
        mqkit_spark.publish(df, url, routing_key=target.name)
    assert target.count() == 0


def test_an_exchange_that_is_not_there_is_refused_before_the_first_row(
    spark: SparkSession, broker: Any
) -> None:
    df = spark.sql(f"select {NEVER} as body")
    said = refused(lambda: save(df, broker.url, exchange="nope"))
    assert said == f"{CONFIGURATION}: {NO_EXCHANGE}"
    with pytest.raises(ConfigurationError) as error:
        mqkit_spark.publish(df, broker.url, exchange="nope")
    assert str(error.value) == NO_EXCHANGE


def test_a_stream_is_refused_before_the_first_row(
    spark: SparkSession, broker: Any, tmp_path: Any
) -> None:
    rows = spark.readStream.format("rate").load().selectExpr(f"{NEVER} as body")
    writer = rows.writeStream.format("amqp").option("url", broker.url).option("exchange", "nope")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(Exception) as error:
        query.awaitTermination()
    # Spark puts the plan behind the words of a stream's error.
    assert f"{CONFIGURATION}: {NO_EXCHANGE}" in str(error.value).splitlines()


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (["if(id = 3, null, 'x') as body"], "body is null"),
        (["'x' as body", "if(id = 3, null, 'x') as message_id"], "message_id is null"),
        (["'x' as body", "if(id = 3, null, '') as exchange"], "exchange is null"),
        (
            ["if(id = 3, '12345678901', 'x') as body"],
            "body has 11 bytes, more than maxMessageBytes (10)",
        ),
        (
            ["'x' as body", "if(id = 3, 315360000001, 1) as expiration_ms"],
            "expiration_ms is not from 0 to 315360000000",
        ),
    ],
)
def test_a_row_that_can_be_no_message_is_told_with_its_number(
    spark: SparkSession, reference_broker: Any, columns: list[str], why: str
) -> None:
    df = spark.range(0, 5, 1, 1).selectExpr(*columns)
    said = refused(lambda: save(df, reference_broker.url, routingKey="q", maxMessageBytes=10))
    assert said == (
        f"{PUBLISH_FAILED}: row 3 of partition 0 can't be a message: {why}; correct it, or set"
        " onBadRow to drop or deadletter"
    )


def too_large(most: int) -> str:
    return (
        "message 'key-42': too large: 406 PRECONDITION_FAILED - message size"
        f" {most + 1} is larger than configured max size {most}"
    )


def test_a_row_above_the_reference_brokers_message_size_is_told_with_its_id(
    spark: SparkSession, reference_broker: Any
) -> None:
    most = REFERENCE_BYTES_MAX
    df = spark.range(0, 100, 1, 1).selectExpr(
        f"if(id = 42, repeat('x', {most + 1}), 'x') as body",
        "concat('key-', id) as message_id",
        "'' as exchange",
    )
    with pika.BlockingConnection(pika.URLParameters(reference_broker.url)) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        options = {"routingKey": queue, "maxMessageBytes": 2 * most}
        said = refused(lambda: save(df, reference_broker.url, **options))
        assert said == f"{PUBLISH_FAILED}: {too_large(most)}"
        ids = {channel.basic_get(queue, True)[1].message_id for _ in range(42)}
    assert ids == {f"key-{n}" for n in range(42)}


@pytest.mark.rabbitmq
def test_a_row_above_rabbitmqs_message_size_is_told_with_its_id(rabbitmq_broker: Any) -> None:
    """The task alone: a row of 128 MiB is more than the JVM of a test can hold some times."""
    most = RABBITMQ_BYTES_MAX
    with pika.BlockingConnection(pika.URLParameters(rabbitmq_broker.url)) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        options = SinkOptions(
            url=rabbitmq_broker.url, exchange="", routing_key=queue, max_message_bytes=2 * most
        )
        rows = pyarrow.RecordBatch.from_pydict(
            {
                "body": ["x"] * 42 + ["x" * (most + 1)] + ["x"] * 57,
                "message_id": [f"key-{n}" for n in range(100)],
            }
        )
        columns = Columns(("body", "message_id"), MessageIds.COLUMN)
        with pytest.raises(mqkit_spark.PublishFailed) as error:
            publish_batches(iter([rows]), options, columns, job_id="j", partition=0, attempt=0)
        assert str(error.value) == too_large(most)
        ids = {channel.basic_get(queue, True)[1].message_id for _ in range(42)}
    assert ids == {f"key-{n}" for n in range(42)}


def test_a_row_for_an_exchange_that_is_not_there_is_told_with_its_id(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    df = spark.range(0, 5, 1, 1).selectExpr(
        "'x' as body",
        "if(id = 3, 'nope', '') as exchange",
        f"'{target.name}' as routing_key",
    )
    said = refused(lambda: save(df, broker_url, jobId="j"))
    assert said == (
        f"{PUBLISH_FAILED}: message 'j/0/3': no such exchange: 404 NOT_FOUND - no exchange 'nope'"
        " in vhost '/'"
    )
