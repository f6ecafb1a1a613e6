"""The planning of a spooled stream, called as Spark calls it; on both brokers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pika
import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from mqkit_spark.options import StreamReadOptions
from mqkit_spark.source.stream.spool.faults import DataLoss, SpoolError
from mqkit_spark.source.stream.spool_stream import SpoolStream

ALL = ReadAllAvailable()


class Query:
    """A query whose driver can end at any moment; ``restart`` is a new process of it."""

    def __init__(self, url: str, target: Any, folder: Path) -> None:
        self.target = target
        self.given: dict[str, Any] = {
            "url": url,
            "queue": target.name,
            "spool_location": str(folder / "spool"),
        }
        self.stream = SpoolStream(StreamReadOptions(**self.given))

    def restart(self, **options: Any) -> None:
        self.end()
        self.stream = SpoolStream(StreamReadOptions(**{**self.given, **options}))

    def end(self) -> None:
        driver = self.stream._driver
        if driver is not None:
            driver._folder.release()
            driver._gauge.close()

    def publish(self, *bodies: str) -> None:
        for body in bodies:
            properties = pika.BasicProperties(message_id=body)
            self.target.channel.basic_publish("", self.target.name, body.encode(), properties)
        self.target.count()

    def rows(self, start: dict[str, Any], end: dict[str, Any]) -> list[str]:
        return [
            body.decode()
            for partition in self.stream.partitions(start, end)
            for batch in self.stream.read(partition)
            for body in batch.column("body").to_pylist()
        ]

    def data_files(self) -> int:
        return len(list(Path(self.given["spool_location"]).glob("batches/*/*.arrow")))


@pytest.fixture
def query(broker_url: str, target: Any, tmp_path: Path) -> Iterator[Query]:
    made = Query(broker_url, target, tmp_path)
    yield made
    made.end()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    caplog.set_level(logging.INFO, "mqkit.spark")
    return lambda: caplog.text


def test_batches_follow_each_other_and_their_files_go(query: Query, log: Callable[[], str]) -> None:
    stream, start = query.stream, query.stream.initialOffset()
    assert stream.latestOffset(start, ALL) == start
    query.publish("a", "b", "c")
    first = stream.latestOffset(start, ReadMaxRows(2))
    assert query.rows(start, first) == ["a", "b"]
    assert query.data_files() == 1
    second = stream.latestOffset(first, ReadMaxRows(2))
    assert query.data_files() == 0
    assert "batch 1: 2 rows of 2 bytes, 0 dropped as known" in log()
    stream.commit(first)
    assert query.rows(first, second) == ["c"]
    stream.commit(second)
    assert query.data_files() == 0
    assert stream.latestOffset(second, ALL) == second
    assert stream.partitions(second, second) == []


def test_a_restart_gives_the_same_batch_whatever_came_meanwhile(query: Query) -> None:
    start = query.stream.initialOffset()
    query.publish("a", "b")
    # Planned, and the driver dies before Spark has logged it; or after.
    planned = query.stream.latestOffset(start, ALL)
    query.restart()
    query.publish("c")
    assert query.stream.latestOffset(start, ALL) == planned
    query.restart()
    assert query.rows(start, planned) == ["a", "b"]
    query.restart()
    assert query.rows(start, planned) == ["a", "b"]
    after = query.stream.latestOffset(planned, ALL)
    assert query.rows(planned, after) == ["c"]
    query.restart()
    # The last batch has no commit: its files go at the next start.
    assert query.data_files() == 1
    assert query.stream.latestOffset(after, ALL) == after
    assert query.data_files() == 0


def test_gone_files_fail_the_query_or_are_passed_over_with_words(
    query: Query, log: Callable[[], str]
) -> None:
    offsets = [query.stream.initialOffset()]
    for body in ("a", "b"):
        query.publish(body)
        offsets.append(query.stream.latestOffset(offsets[-1], ALL))
        query.rows(*offsets[-2:])
    assert query.stream.latestOffset(offsets[2], ALL) == offsets[2]
    query.publish("c")
    query.restart()
    with pytest.raises(DataLoss, match="batch 2 is asked for again"):
        query.rows(offsets[1], offsets[2])
    with pytest.raises(DataLoss, match="was set back to batch 1"):
        query.stream.latestOffset(offsets[1], ALL)
    query.restart(fail_on_data_loss=False)
    assert query.rows(offsets[1], offsets[2]) == []
    assert "its files are gone" in log()
    after = query.stream.latestOffset(offsets[1], ALL)
    assert query.rows(offsets[1], after) == ["c"]
    assert after["batch"] == 3


def test_a_checkpoint_without_every_batch_is_not_read_as_if_it_had(query: Query) -> None:
    start = query.stream.initialOffset()
    query.publish("a")
    first = query.stream.latestOffset(start, ALL)
    query.rows(start, first)
    query.publish("b")
    second = query.stream.latestOffset(first, ALL)
    with pytest.raises(DataLoss, match="batches after 0 are gone"):
        query.rows(start, second)


def test_a_second_query_is_refused(query: Query) -> None:
    start = query.stream.initialOffset()
    query.publish("a")
    first = query.stream.latestOffset(start, ALL)
    query.rows(start, first)
    query.restart()
    with pytest.raises(SpoolError, match="another checkpoint"):
        query.stream.latestOffset(start, ALL)


def test_available_now_ends_at_what_lay_there(query: Query) -> None:
    query.publish("a", "b", "c")
    query.stream.prepareForTriggerAvailableNow()
    offset = query.stream.initialOffset()
    got: list[str] = []
    while (end := query.stream.latestOffset(offset, ReadMaxRows(2))) != offset:
        query.publish("later")
        got += query.rows(offset, end)
        offset = end
    assert got == ["a", "b", "c"]
