"""The consumer beside the queues of a round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest

from interop.spark_sink.rows import ROWS_OF_PARTITION, body
from interop.spark_sink.watch import watching

LOOKS = 600
WITHIN_S = 0.1


@pytest.fixture
def publish(broker: Any, unique: Callable[[str], str]) -> Iterator[Callable[[str, bytes], None]]:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()

        def published(exchange: str, message: bytes) -> None:
            channel.basic_publish(exchange, "", message)

        yield published


@pytest.fixture
def exchange(broker: Any, unique: Callable[[str], str]) -> str:
    name = unique("round")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().exchange_declare(name, "fanout")
    return name


def test_a_watch_says_of_which_partitions_rows_have_come(
    broker: Any, exchange: str, publish: Callable[[str, bytes], None]
) -> None:
    with watching(broker.url, exchange) as watch:
        watch.look()
        assert not watch.has_come(1)
        publish(exchange, body(ROWS_OF_PARTITION + 7))
        for _ in range(LOOKS):
            if watch.has_come(1):
                break
            watch.look(WITHIN_S)
        assert watch.has_come(1)
        assert not watch.has_come(0)
