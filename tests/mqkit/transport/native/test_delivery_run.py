"""Runs of deliveries on a connection whose broker the test plays."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.transport.native.channel import RunConsumer
from mqkit.transport.native.delivery_run import DeliveryRun, Way
from mqkit.transport.native.exact import octets_of
from mqkit.wire import HEARTBEAT_FRAME, Properties, content_frames, methods

FRAME_MAX = 131_072


def consume(played: Any, channel: Any, tag: str = "c") -> tuple[list[DeliveryRun], list[str]]:
    runs, cancelled = list[DeliveryRun](), list[str]()
    channel.consume(
        methods.BasicConsume("q", tag), RunConsumer(runs.append, cancelled.append), played.answer()
    )
    played.says(methods.BasicConsumeOk(tag), channel=channel.number)
    played.written()
    return runs, cancelled


def frames(tag: int, *, consumer: str = "c", key: str = "k", body: bytes = b"body") -> bytes:
    method = methods.BasicDeliver(consumer, tag, tag % 2 == 0, "x", key)
    return content_frames(1, method, Properties(message_id=f"m{tag}"), body, FRAME_MAX)


def test_what_a_read_has_brought_is_one_run(played: Any) -> None:
    runs, _ = consume(played, played.channel())
    octets = b"".join(frames(tag, body=b"b" * tag) for tag in range(8, 13))
    played.connection.receive(octets + frames(13, key="other") + HEARTBEAT_FRAME + frames(14))
    assert [len(run) for run in runs] == [6, 1]
    run = runs[0]
    assert run.ways == [Way("c", "x", "k")] * 5 + [Way("c", "x", "other")]
    assert run.tags == [8, 9, 10, 11, 12, 13]
    assert run.redelivered == [True, False] * 3
    assert run.properties == [octets_of(Properties(message_id=f"m{tag}")) for tag in run.tags]
    assert run.bodies == [b"b" * tag for tag in range(8, 13)] + [b"body"]


def test_runs_follow_each_other(played: Any) -> None:
    runs, _ = consume(played, played.channel())
    octets = b"".join(frames(tag) for tag in range(1, 21))
    for start in range(0, len(octets), 150):
        played.connection.receive(octets[start : start + 150])
    whole = DeliveryRun()
    for run in runs:
        whole.extend(run)
    assert len(whole) == 20
    assert whole.tags == list(range(1, 21))
    assert len(whole.ways) == len(whole.redelivered) == len(whole.properties) == 20


def test_a_consumer_of_runs_and_one_of_deliveries_share_a_channel(played: Any) -> None:
    channel = played.channel()
    runs, _ = consume(played, channel)
    deliveries: list[Any] = []
    channel.consume(
        methods.BasicConsume("q", "d"), played.consumer(deliveries.append), played.answer()
    )
    played.says(methods.BasicConsumeOk("d"), channel=1)
    octets = [frames(tag, consumer="cd"[tag % 3 == 0]) for tag in range(1, 10)]
    played.connection.receive(b"".join(octets))
    assert [tag for run in runs for tag in run.tags] == [1, 2, 4, 5, 7, 8]
    assert [each.delivery_tag for each in deliveries] == [3, 6, 9]
    with pytest.raises(ConfigurationError, match="'c' already"):
        consume(played, channel)


def test_they_are_acked_by_their_tags(played: Any) -> None:
    channel = played.channel()
    runs, _ = consume(played, channel)
    played.connection.receive(b"".join(frames(tag) for tag in range(1, 6)))
    channel.ack(runs[0].tags[1], multiple=True)
    channel.ack(runs[0].tags[2], multiple=False)
    assert played.written() == [methods.BasicAck(2, True), methods.BasicAck(3, False)]


def test_what_comes_for_a_cancelled_consumer_goes_back(played: Any) -> None:
    channel = played.channel()
    runs, _ = consume(played, channel)
    channel.forget_consumer("c")
    played.connection.receive(frames(1) + frames(2))
    assert runs == []
    assert played.written() == [methods.BasicNack(tag, False, True) for tag in (1, 2)]


def test_it_is_told_when_its_queue_is_gone(played: Any) -> None:
    _, cancelled = consume(played, played.channel())
    played.says(methods.BasicCancel("c"), channel=1)
    assert cancelled == ["c"]


def test_a_callback_that_fails_ends_nothing(played: Any, caplog: pytest.LogCaptureFixture) -> None:
    channel = played.channel()

    def fail(run: DeliveryRun) -> None:
        raise ValueError("of the test")

    channel.consume(
        methods.BasicConsume("q", "c"), RunConsumer(fail, lambda _: None), played.answer()
    )
    played.says(methods.BasicConsumeOk("c"), channel=1)
    played.connection.receive(frames(1))
    assert "of the test" in caplog.text
    assert played.connection.is_open
