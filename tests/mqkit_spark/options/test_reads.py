"""mqkit_spark.options.reads: options of a read of which it is not known yet whether it streams."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.options.batch_read import BATCH_READ_OPTIONS
from mqkit_spark.options.queue import QUEUE_READERS, QueueOptions
from mqkit_spark.options.reads import read_options
from mqkit_spark.options.table import OptionTable
from mqkit_spark.options.values import text


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming(QueueOptions):
    mode: str = ""


TABLES = (BATCH_READ_OPTIONS, OptionTable(Streaming, {**QUEUE_READERS, "mode": text}))
GIVEN = {"url": "amqp://h/", "queue": "q"}


def test_the_first_kind_that_accepts_them() -> None:
    json = read_options({**GIVEN, "maxMessages": "5", "headersFormat": "json"})
    assert json.headers_format is HeadersFormat.JSON
    assert isinstance(read_options({**GIVEN, "mode": "driver"}, TABLES), Streaming)


def test_the_error_is_that_of_the_kind_that_knows_most_of_them() -> None:
    with pytest.raises(ConfigurationError, match="unknown option 'maxMessages'"):
        read_options({"maxMessages": "1", "mode": "spool", **GIVEN}, TABLES[1:])
    with pytest.raises(ConfigurationError, match="option queue is missing"):
        read_options({"url": "amqp://h/", "mode": "driver"}, TABLES)
    with pytest.raises(ConfigurationError, match="maxMessages must be at least 1"):
        read_options({**GIVEN, "maxMessages": "0"}, TABLES)
