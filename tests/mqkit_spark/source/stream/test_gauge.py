"""The depth of the queue, on both brokers."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.options import StreamMode, StreamReadOptions
from mqkit_spark.source.stream.gauge import Gauge


def gauge(url: str, queue: str) -> Gauge:
    return Gauge(StreamReadOptions(url=url, queue=queue, mode=StreamMode.DRIVER))


def test_it_counts_ready_messages_also_after_its_connection_was_lost(
    broker_url: str, target: Any
) -> None:
    meter = gauge(broker_url, target.name)
    assert meter.depth() == 0
    for _ in range(3):
        target.channel.basic_publish("", target.name, b"")
    target.count()
    assert meter.depth() == 3
    meter.close()
    assert meter.depth() == 3
    meter.close()


def test_a_queue_that_is_not_there_is_said(broker_url: str) -> None:
    meter = gauge(broker_url, "test-no-such-queue")
    with pytest.raises(ConfigurationError, match="queue 'test-no-such-queue': 404"):
        meter.depth()
    meter.close()
