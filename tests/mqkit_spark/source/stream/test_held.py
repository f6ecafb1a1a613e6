"""A batch in the driver's memory, on both brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from mqkit_spark.options import StreamMode, StreamReadOptions
from mqkit_spark.source.stream import held as module
from mqkit_spark.source.stream.held import Held


@pytest.fixture
def held(broker_url: str, target: Any) -> Iterator[Held]:
    made = Held(StreamReadOptions(url=broker_url, queue=target.name, mode=StreamMode.DRIVER))
    yield made
    made.close()


def publish(target: Any, count: int, body: bytes = b"") -> None:
    for number in range(count):
        target.channel.basic_publish("", target.name, body or str(number).encode())
    target.count()


def numbers(part: bytes) -> list[int]:
    with pa.ipc.open_stream(part) as reader:
        return [int(body) for batch in reader for body in batch.column("body").to_pylist()]


def test_a_batch_is_acked_when_it_is_released(held: Held, target: Any) -> None:
    publish(target, 50)
    assert held.depth() == 50
    held.take(30)
    assert (held.count, held.redelivered, target.count()) == (30, 0, 20)
    assert [numbers(part) for part in held.split([20, 10, 0])] == [
        list(range(20)),
        list(range(20, 30)),
        [],
    ]
    assert held.release() == 0
    held.close()
    assert target.count() == 20


def test_a_lost_connection_is_counted_and_the_rows_come_again(held: Held, target: Any) -> None:
    publish(target, 30)
    held.take(30)
    held.close()
    assert held.count == 30
    assert held.release() == 30
    held.take(100)
    assert (held.count, held.redelivered) == (30, 30)
    assert (held.release(), held.release()) == (0, 0)


def test_a_batch_is_bounded_by_number_and_by_bytes(
    held: Held, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(target, 40, b"x" * 100)
    monkeypatch.setattr(module, "HELD_MAX", 12)
    held.take(100)
    assert held.count == 12
    held.release()
    monkeypatch.setattr(module, "HELD_MAX", 100)
    monkeypatch.setattr(module, "HELD_BYTES_MAX", 500)
    held.take(100)
    assert held.count == 16  # the first take
