"""The queues of a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pika
import pytest

from interop.spark_sink import queues


def publish(url: str, exchange: str, *messages: tuple[str, bytes]) -> None:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for name, text in messages:
            properties = pika.BasicProperties(message_id=name)
            channel.basic_publish(exchange, "", text, properties, mandatory=True)


@pytest.fixture
def made(broker: Any, unique: Callable[[str], str]) -> queues.Queues:
    name = unique("round")
    for suffix in (".plain", ".window"):
        unique(f"round{suffix}")  # to be deleted, too
    return queues.declare(broker.url, name, 100, windows=broker.is_reference)


def test_all_that_came_is_taken_once(broker: Any, made: queues.Queues) -> None:
    publish(broker.url, made.exchange, ("a", b"1"), ("b", b"2"), ("a", b"1"))
    assert queues.depth(broker.url, made.plain) == 3
    assert queues.taken(broker.url, made.plain) == Counter({("a", b"1"): 2, ("b", b"2"): 1})
    assert queues.taken(broker.url, made.plain) == Counter()


def test_behind_the_window_an_id_comes_once(broker: Any, made: queues.Queues) -> None:
    if made.window is None:
        assert not broker.is_reference
        return
    publish(broker.url, made.exchange, ("a", b"1"), ("b", b"2"), ("a", b"1"))
    assert queues.taken(broker.url, made.window) == Counter([("a", b"1"), ("b", b"2")])
