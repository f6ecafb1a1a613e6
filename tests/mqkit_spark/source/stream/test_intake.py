"""Messages out of a queue, a bounded number at a time, on both brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mqkit.transport.native.over_sockets.channel import NativeBlockingChannel
from mqkit_spark.connecting import connect_exact
from mqkit_spark.options import StreamReadOptions
from mqkit_spark.source.stream import intake
from mqkit_spark.source.stream.intake import Intake, acknowledge, ready
from mqkit_spark.source.stream.spool.faults import SpoolError


@pytest.fixture
def channel(broker_url: str, target: Any) -> Iterator[NativeBlockingChannel]:
    options = StreamReadOptions(url=broker_url, queue=target.name, mode="driver")  # type: ignore[arg-type]
    connection = connect_exact(options, name="test")
    yield connection.channel()
    connection.close()


def publish(target: Any, count: int, body: bytes = b"") -> None:
    for number in range(count):
        target.channel.basic_publish("", target.name, body or str(number).encode())
    target.count()


def test_takes_grow_and_nothing_else_is_on_its_way(
    channel: NativeBlockingChannel, target: Any
) -> None:
    publish(target, 200)
    source = Intake(channel, target.name)
    sizes = [len(source.take(most)) for most in (200, 200, 20)]
    assert sizes == [intake.FIRST_TAKE, intake.FIRST_TAKE * intake.GROWTH, 20]
    assert ready(channel, target.name) == 200 - sum(sizes)
    acknowledge(channel, source.last_tag)
    assert target.count() == 200 - sum(sizes)


def test_large_messages_are_taken_one_at_a_time(
    channel: NativeBlockingChannel, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "TAKE_BYTES", 1000)
    publish(target, 30, b"x" * 900)
    source = Intake(channel, target.name)
    assert [len(source.take(30)) for _ in range(3)] == [intake.FIRST_TAKE, 1, 1]


def test_messages_come_in_the_queues_order(channel: NativeBlockingChannel, target: Any) -> None:
    publish(target, 100)
    source = Intake(channel, target.name)
    got = source.take(100).bodies + source.take(84).bodies
    assert [int(body) for body in got] == list(range(100))


def test_an_empty_queue_ends_it(channel: NativeBlockingChannel, target: Any) -> None:
    assert not Intake(channel, target.name).take(10)


def test_a_queue_that_gives_its_messages_to_others_is_left_after_a_while(
    channel: NativeBlockingChannel, make_queue: Any
) -> None:
    """Another is the single active consumer, and has as much as it may have."""
    target = make_queue({"x-single-active-consumer": True})
    target.channel.basic_qos(prefetch_count=1)
    target.channel.basic_consume(target.name, lambda *_: None)
    publish(target, 3)
    seconds = iter(range(1000))
    source = Intake(channel, target.name, clock=lambda: 3.0 * next(seconds))
    assert not source.take(10)
    assert next(seconds) > intake.PATIENCE_S / 3


def test_a_queue_that_is_deleted_meanwhile_is_said(
    channel: NativeBlockingChannel, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(target, 1)
    source = Intake(channel, target.name)
    wait = Intake._wait

    def delete_first(self: Intake, arrivals: Any) -> None:
        target.channel.queue_delete(target.name)
        wait(self, arrivals)

    monkeypatch.setattr(Intake, "_wait", delete_first)
    with pytest.raises(SpoolError, match="was deleted while it was read"):
        source.take(10)
