"""A handler that is measured: what is counted of each call, and what is left as it was."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit import Batch, Park
from mqkit.consumer.batches.batch_handler import BatchHandler
from mqkit.consumer.handler import MessageHandler
from mqkit.message import Delivery, Properties
from mqkit.metrics.handler_meter import (
    ATTEMPTS_MAX,
    HandlerMeter,
    MeasuredBatchHandler,
    MeasuredHandler,
)
from mqkit.retry.headers import ATTEMPT, QUEUE

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def delivery(body: bytes = b"x", **properties: Any) -> Delivery:
    return Delivery("", "q", body, Properties(**properties), 1, False)


def failed(times: int, queue: str = "q") -> Delivery:
    return delivery(headers={QUEUE: queue, ATTEMPT: times})


def meter() -> HandlerMeter:
    return HandlerMeter(lambda: NOW.timestamp() + 90.0)


async def test_a_call_is_one_duration_and_returns_what_the_handler_does() -> None:
    async def double(body: str) -> str:
        return body * 2

    counted = meter()
    handler = MeasuredHandler(MessageHandler(double, timeout_s=3), "q", counted)
    assert await handler(*handler.arguments(delivery(b"ab"))) == "abab"
    assert counted.durations.values.count == 1
    assert counted.failed == 0
    assert (handler.name.endswith("double"), handler.timeout_s) == (True, 3)
    assert handler.takes_delivery is False


@pytest.mark.parametrize(("raised", "failures"), [(ValueError("no"), 1), (Park("bad"), 0)])
async def test_what_is_raised_is_raised_and_no_signal_is_a_failure(
    raised: Exception, failures: int
) -> None:
    def fails(body: bytes) -> None:
        raise raised

    counted = meter()
    handler = MeasuredHandler(MessageHandler(fails), "q", counted)
    with pytest.raises(type(raised)):
        await handler(*handler.arguments(delivery()))
    assert (counted.failed, counted.durations.values.count) == (failures, 1)


def test_attempts_are_those_on_this_queue_and_bounded() -> None:
    counted = meter()
    for each in (delivery(), failed(1), failed(1), failed(2, "another"), failed(500)):
        counted.begins(each, "q")
    assert counted.attempts == [2, 2, *[0] * (ATTEMPTS_MAX - 3), 1]


def test_an_age_is_from_the_timestamp_and_never_negative() -> None:
    counted = meter()
    counted.begins(delivery(timestamp=NOW), "q")
    counted.begins(delivery(timestamp=NOW.replace(year=2027)), "q")
    counted.begins(delivery(), "q")
    ages = counted.ages.values
    assert (ages.count, ages.sum_s) == (2, 90.0)


async def test_a_batch_is_one_duration_and_as_many_ages() -> None:
    async def store(batch: Batch[bytes]) -> None: ...

    counted = meter()
    handler = MeasuredBatchHandler(BatchHandler(store, timeout_s=4), "q", counted)
    deliveries = [delivery(timestamp=NOW), delivery(), failed(1)]
    items = [handler.decode(each) for each in deliveries]
    await handler(Batch(items, deliveries))
    assert items == [b"x"] * 3
    assert (counted.durations.values.count, counted.ages.values.count) == (1, 1)
    assert counted.attempts[:2] == [2, 1]
    assert (handler.name.endswith("store"), handler.timeout_s) == (True, 4)
    assert handler.takes_deliveries is False
