"""The options of a stream source, read and refused."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.options import STREAM_READ_OPTIONS, StreamMode, StreamReadOptions

GIVEN = {"url": "amqp://me:hunter2@h/", "queue": "orders", "spoollocation": "/spool"}


def read(**options: str) -> StreamReadOptions:
    return STREAM_READ_OPTIONS.from_spark({**GIVEN, **options})


def test_the_names_are_those_of_the_kafka_connector() -> None:
    options = read(
        maxOffsetsPerTrigger="5000",
        minOffsetsPerTrigger="10",
        maxTriggerDelay="2m",
        minPartitions="4",
        failOnDataLoss="false",
        dedupWindow="7",
    )
    assert (options.max_offsets_per_trigger, options.min_offsets_per_trigger) == (5000, 10)
    assert (options.max_trigger_delay_s, options.min_partitions) == (120.0, 4)
    assert (options.fail_on_data_loss, options.dedup_window) == (False, 7)
    assert options.mode is StreamMode.SPOOL


@pytest.mark.parametrize(
    ("given", "seconds"), [("15m", 900), ("30s", 30), ("500ms", 0.5), ("12", 12), ("1h", 3600)]
)
def test_a_delay_is_a_time(given: str, seconds: float) -> None:
    assert read(maxTriggerDelay=given).max_trigger_delay_s == seconds


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a%20b", "/a b"),
        ("file://localhost/a", "/a"),
    ],
)
def test_a_spool_is_a_path_or_a_file_url(location: str, path: str) -> None:
    assert read(spoolLocation=location).spool_location == path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spoollocation": ""}, "spoolLocation is missing"),
        ({"spoollocation": "s3a://bucket/spool"}, "s3a: is not supported"),
        ({"spoollocation": "hdfs://host/spool"}, "hdfs: is not supported"),
        ({"spoollocation": "spool"}, "is not an absolute path"),
        ({"spoollocation": "file://host/spool"}, "three slashes"),
        ({"mode": "driver"}, "spoolLocation has no meaning with mode=driver"),
        ({"mode": "both"}, "expected one of spool, driver"),
        ({"maxTriggerDelay": "soon"}, "expected a time like 30s"),
        ({"maxTriggerDelay": "0s"}, "maxTriggerDelay must be more than 0"),
        ({"minPartitions": "0"}, "minPartitions must be at least 1"),
        ({"minPartitions": "99999"}, "minPartitions must be at most"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must be at least 1"),
        ({"maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "6"}, "is more than max"),
        ({"dedupWindow": "-1"}, "dedupWindow must be at least 0"),
        ({"dedupWindow": "1000000000"}, "dedupWindow must be at most"),
        ({"startingOffsets": "earliest"}, "unknown option 'startingOffsets'"),
    ],
)
def test_what_cannot_be_is_refused_in_words(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        STREAM_READ_OPTIONS.from_spark({**GIVEN, **options})
    assert words in str(error.value)
    assert "hunter2" not in str(error.value)


def test_mode_driver_needs_no_folder() -> None:
    options = {name: text for name, text in GIVEN.items() if name != "spoollocation"}
    assert STREAM_READ_OPTIONS.from_spark({**options, "mode": "Driver"}).spool_location is None
