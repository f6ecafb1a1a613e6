"""``spark.read.format("amqp")`` in a real Spark, from a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pika
import pytest

from mqkit_spark import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    register(spark)


def load(spark: SparkSession, url: str, **options: Any) -> DataFrame:
    return spark.read.format("amqp").option("url", url).options(**options).load()


def fill(target: Any, count: int, **properties: Any) -> None:
    for number in range(count):
        body = b"%d" % number
        target.channel.basic_publish("", target.name, body, pika.BasicProperties(**properties))


def arriving(target: Any, count: int) -> list[int]:
    """So many messages, whenever they come: of a read that Spark ends early, the worker may give
    back after the job's end."""
    numbers: list[int] = []
    for method, _, body in target.channel.consume(target.name, inactivity_timeout=60):
        assert method is not None, f"only {len(numbers)} came"
        numbers.append(int(body))
        if len(numbers) == count:
            break
    return numbers


def test_each_evaluation_reads_the_queue_again(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    fill(target, 250, headers={"n": 5, "text": "ä"}, message_id="m", expiration="60000")
    df = load(spark, broker_url, queue=target.name)
    first, again = df.collect(), df.collect()
    assert [int(row.body) for row in first] == [int(row.body) for row in again] == [*range(250)]
    assert (first[0].redelivered, again[0].redelivered) == (False, True)
    assert first[0].headers == {"n": "5", "text": "ä"}
    assert (first[0].message_id, first[0].expiration_ms) == ("m", 60_000)
    assert (first[0].routing_key, first[0].exchange) == (target.name, "")
    assert df.limit(3).count() == 3
    assert arriving(target, 250) == [*range(250)]


def test_on_read_nothing_is_there_the_second_time(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    fill(target, 30, headers={"n": 5})
    df = load(
        spark,
        broker_url,
        queue=target.name,
        ackMode="onRead",
        headersFormat="json",
        maxMessages=20,
    )
    assert [row.headers for row in df.collect()] == ['{"n":5}'] * 20
    assert target.count() == 10
    assert df.count() == 10
    assert target.count() == 0


def test_what_can_be_known_is_refused_by_load(spark: SparkSession) -> None:
    secret = "amqp://me:hunter2@127.0.0.1:1/"
    for options, words in (
        ({}, "option queue is missing"),
        ({"queue": "q", "mode": "spool"}, "option spoolLocation is missing"),
        ({"queue": "q", "ackMode": "x"}, "option ackMode: expected one of peek, onread"),
    ):
        with pytest.raises(Exception, match="ConfigurationError") as error:
            load(spark, secret, **options)
        assert words in str(error.value)
        assert "hunter2" not in str(error.value)


def test_options_of_a_stream_are_refused_when_it_is_no_stream(spark: SparkSession) -> None:
    """At load Spark has not said which it is."""
    df = load(spark, "amqp://127.0.0.1:1/", queue="q", mode="driver")
    with pytest.raises(Exception, match=r"option mode belongs to spark\.readStream"):
        df.collect()


def test_what_only_the_broker_knows_is_said_before_a_task_runs(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    with pytest.raises(Exception, match="404 NOT_FOUND - no queue 'no-such'") as error:
        load(spark, broker_url, queue="no-such").collect()
    assert "in stage" not in str(error.value), "no task has failed"
    with pytest.raises(Exception, match="a queue has its own columns: load it without a schema"):
        spark.read.format("amqp").options(url=broker_url, queue=target.name).schema(
            "body string"
        ).load().collect()


def test_a_second_attempt_of_an_at_most_once_read_is_refused(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    fill(target, 10)

    def fail(batches: Any) -> Any:
        for _ in batches:
            raise RuntimeError("the task fails after it has read")
        yield from ()

    df = load(spark, broker_url, queue=target.name, ackMode="onRead")
    with pytest.raises(Exception, match="an earlier attempt of this task has read queue"):
        df.mapInArrow(fail, "x string").collect()


def test_a_peek_whose_task_fails_gives_back_too(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    fill(target, 10)

    def fail_once(batches: Any) -> Any:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            if context.attemptNumber() == 0:
                raise RuntimeError("the first attempt fails")
            yield batch

    df = load(spark, broker_url, queue=target.name).select("body")
    rows = df.mapInArrow(fail_once, "body binary").collect()
    assert [int(row.body) for row in rows] == list(range(10))
