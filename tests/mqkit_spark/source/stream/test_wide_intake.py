"""Messages over several channels of a connection, on both brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mqkit.transport.native.over_sockets.connection import NativeBlockingConnection
from mqkit_spark.connecting import connect_exact
from mqkit_spark.options import StreamReadOptions
from mqkit_spark.source.stream import wide_intake
from mqkit_spark.source.stream.intake import acknowledge
from mqkit_spark.source.stream.wide_intake import WideIntake


@pytest.fixture
def connection(broker_url: str, target: Any) -> Iterator[NativeBlockingConnection]:
    options = StreamReadOptions(url=broker_url, queue=target.name, mode="driver")  # type: ignore[arg-type]
    opened = connect_exact(options, name="test")
    yield opened
    opened.close()


def test_a_channel_has_its_share_and_another_has_the_rest(
    connection: NativeBlockingConnection, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide_intake, "CHANNEL_MAX", 20)
    for number in range(50):
        target.channel.basic_publish("", target.name, str(number).encode())
    target.count()
    source = WideIntake(connection, target.name)
    got: list[int] = []
    sizes: list[int] = []
    while len(got) < 45 and (taken := source.take(45 - len(got))):
        sizes.append(len(taken))
        got += [int(body) for body in taken.bodies]
    assert got == list(range(45))
    assert [share.count for share in source.shares] == [20, 20, 5]
    # A new channel takes as much as the last did, and does not feel its way again.
    assert sizes == [16, 4, 20, 5]
    for share in source.shares:
        acknowledge(share.channel, share.intake.last_tag)
    assert target.count() == 5


def test_it_is_open_while_all_that_it_took_is_still_its_own(
    connection: NativeBlockingConnection, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide_intake, "CHANNEL_MAX", 1)
    for _ in range(2):
        target.channel.basic_publish("", target.name, b"")
    target.count()
    source = WideIntake(connection, target.name)
    assert len(source.take(1)) + len(source.take(1)) == 2
    assert source.is_open
    source.shares[0].channel.close()
    assert not source.is_open
