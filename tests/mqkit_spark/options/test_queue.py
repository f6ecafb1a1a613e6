"""mqkit_spark.options.queue: the options of everything that reads a queue."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.options.queue import QueueOptions

URL = "amqp://h/"


def test_a_queue_and_the_form_of_its_headers() -> None:
    assert QueueOptions(url=URL, queue="q").headers_format is HeadersFormat.MAP
    options = QueueOptions(url=URL, queue="q", headers_format="JSON")  # type: ignore[arg-type]
    assert options.headers_format is HeadersFormat.JSON


def test_what_cannot_be() -> None:
    with pytest.raises(ConfigurationError) as error:
        QueueOptions(url=URL)
    assert str(error.value) == 'option queue is missing (example: .option("queue", "orders"))'
    with pytest.raises(ConfigurationError, match="queue has more than 255 bytes"):
        QueueOptions(url=URL, queue="q" * 256)
    with pytest.raises(ConfigurationError, match="option headersFormat: expected one of map, json"):
        QueueOptions(url=URL, queue="q", headers_format="xml")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="pika loses the types of headers"):
        QueueOptions(url=URL, queue="q", transport="pika")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="option url is missing"):
        QueueOptions(queue="q")
