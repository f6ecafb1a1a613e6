"""Handlers that run for long, by a clock that stands still."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from mqkit.consumer.settlement_steps import Arrival
from mqkit.consumer.slow_handlers import (
    CONSUMER_TIMEOUT_S,
    SlowHandlers,
    consumer_timeout_s,
    warn_of_timeout,
)
from mqkit.message import Delivery, Properties
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Channel

pytestmark = pytest.mark.anyio

NO_CHANNEL = cast(Channel, None)


def arrival(number: int) -> Arrival:
    properties = Properties(message_id=f"m{number}")
    return Arrival(NO_CHANNEL, Delivery("", "q", b"secret", properties, number, False))


async def test_a_handler_is_told_of_once_when_it_has_run_for_half_of_the_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    at_hand: list[Arrival | None] = [arrival(0), None]
    watch = asyncio.create_task(SlowHandlers("q", at_hand, 40.0, clock).run())
    told = []
    for number in range(1, 8):
        await clock.until_waiting(1)
        clock.advance(10.0)
        await asyncio.sleep(0)
        at_hand[1] = arrival(number)  # the other worker has another one each time
        told.append(len(caplog.records))
    watch.cancel()
    assert told == [0, 0, 1, 1, 1, 1, 1]
    assert "handler of q has been at message m0 for 20 s" in caplog.text
    assert "secret" not in caplog.text


async def test_a_worker_that_waits_for_work_is_not_slow(caplog: pytest.LogCaptureFixture) -> None:
    watch = SlowHandlers("q", [None], 40.0, FakeClock())
    for _ in range(10):
        watch.look()
    assert not caplog.records


@pytest.mark.parametrize(
    ("arguments", "expected_s"),
    [
        ((None, {}), CONSUMER_TIMEOUT_S),
        (({"x-consumer-timeout": 60_000}, None), 60.0),
        (({"x-consumer-timeout": 60_000}, {"x-consumer-timeout": 5_000}), 5.0),
        (({"x-consumer-timeout": 0}, {"x-consumer-timeout": "soon"}), CONSUMER_TIMEOUT_S),
    ],
)
def test_the_shortest_consumer_timeout_counts(
    arguments: tuple[dict[str, object] | None, ...], expected_s: float
) -> None:
    assert consumer_timeout_s(*arguments) == expected_s


@pytest.mark.parametrize(("handler_s", "lines"), [(None, 0), (60.0, 0), (60.1, 1)])
def test_a_time_limit_beyond_the_brokers_is_told(
    handler_s: float | None, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_timeout("q", handler_s, 60.0)
    assert len(caplog.records) == lines
