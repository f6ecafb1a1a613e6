"""mqkit_spark.sink.link: connecting is tried again, and a lost connection is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mqkit.errors import Unreachable
from mqkit.transport.blocking import BlockingConnection
from mqkit_spark.options import SinkOptions
from mqkit_spark.pool import borrowed
from mqkit_spark.sink.link import Link


class Broken:
    """Lends nothing the first times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.pauses: list[float] = []

    @contextmanager
    def lend(self, options: SinkOptions) -> Iterator[BlockingConnection]:
        self.left -= 1
        if self.left >= 0:
            raise Unreachable("nobody answers")
        with borrowed(options) as connection:
            yield connection


def test_connecting_is_tried_again_with_growing_pauses(broker_url: str) -> None:
    broken = Broken(2)
    link = Link(SinkOptions(url=broker_url, publish_retries=2), broken.lend, broken.pauses.append)
    channel = link.channel()
    assert broken.pauses == [0.2, 0.4]
    assert link.channel() is channel, "an open channel is kept"
    link.close()
    link.close()


def test_after_the_retries_the_error_is_raised() -> None:
    broken = Broken(3)
    link = Link(SinkOptions(url="amqp://h/", publish_retries=2), broken.lend, broken.pauses.append)
    with pytest.raises(Unreachable):
        link.channel()
    assert broken.left == 0, "two more attempts"
    assert link.blocked_s == 0
    link.abort()
    link.close()


def test_a_connection_that_is_aborted_is_replaced(broker_url: str) -> None:
    broken = Broken(0)
    link = Link(SinkOptions(url=broker_url), broken.lend, broken.pauses.append)
    first = link.channel()
    link.abort()
    assert not first.is_open
    second = link.channel()
    assert second is not first
    assert second.is_open
    link.close()
    assert broken.pauses == []
