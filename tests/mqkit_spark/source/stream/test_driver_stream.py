"""A stream that is consumed in the driver, called as Spark calls it; on both brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from mqkit_spark.options import StreamMode, StreamReadOptions
from mqkit_spark.source.stream.driver_stream import DriverStream

ALL = ReadAllAvailable()


def publish(target: Any, *bodies: str) -> None:
    for body in bodies:
        properties = pika.BasicProperties(message_id=body)
        target.channel.basic_publish("", target.name, body.encode(), properties)
    target.count()


def rows(stream: DriverStream, start: dict[str, Any], end: dict[str, Any]) -> list[str]:
    return [
        body.decode()
        for partition in stream.partitions(start, end)
        for batch in stream.read(partition)
        for body in batch.column("body").to_pylist()
    ]


@pytest.fixture
def make_stream(broker_url: str, target: Any) -> Iterator[Callable[[], DriverStream]]:
    made: list[DriverStream] = []

    def make() -> DriverStream:
        options = StreamReadOptions(url=broker_url, queue=target.name, mode=StreamMode.DRIVER)
        made.append(DriverStream(options))
        return made[-1]

    yield make
    for stream in made:
        stream.stop()


def test_a_batch_is_acked_when_the_next_is_planned(make_stream: Any, target: Any) -> None:
    stream = make_stream()
    start = stream.initialOffset()
    assert stream.latestOffset(start, ALL) == start
    publish(target, "a", "b", "c")
    first = stream.latestOffset(start, ReadMaxRows(2))
    # Asked again, since the batch failed: it is the same.
    assert stream.latestOffset(start, ReadMaxRows(2)) == first
    assert rows(stream, start, first) == rows(stream, start, first) == ["a", "b"]
    second = stream.latestOffset(first, ALL)
    assert rows(stream, first, second) == ["c"]
    stream.stop()
    # The first was acked; the second comes again.
    assert target.count() == 1


def test_none_is_missing_after_a_restart_and_what_comes_again_is_counted(
    make_stream: Any, target: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stream = make_stream()
    start = stream.initialOffset()
    publish(target, "a", "b")
    first = stream.latestOffset(start, ALL)
    assert rows(stream, start, first) == ["a", "b"]
    stream.stop()
    publish(target, "c")
    again = make_stream()
    assert sorted(rows(again, start, first)) == ["a", "b"]
    assert "batch 1 runs again: 2 rows, 2 of them were delivered before" in caplog.text
    after = again.latestOffset(first, ALL)
    assert rows(again, first, after) == ["c"]
    assert again.latestOffset(after, ALL) == after
    again.stop()
    assert target.count() == 0


def test_available_now_ends_at_what_lay_there(make_stream: Any, target: Any) -> None:
    stream = make_stream()
    publish(target, "a", "b", "c")
    stream.prepareForTriggerAvailableNow()
    offset, got = stream.initialOffset(), list[str]()
    while (end := stream.latestOffset(offset, ReadMaxRows(2))) != offset:
        publish(target, "later")
        got += rows(stream, offset, end)
        offset = end
    assert got == ["a", "b", "c"]
