"""The queue, deleted and declared again: by somebody else, too."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.topology.migration import Outcome
from mqkit.topology.migration.replacing import AWAY_S
from mqkit.topology.migration.steps import Step

pytestmark = pytest.mark.anyio


async def test_a_consumer_hears_that_its_queue_is_gone(shop: Any) -> None:
    reader = await shop.connection.channel()
    cancelled: list[str] = []
    tag = await reader.consume(shop.queue, lambda delivery: None, on_cancel=cancelled.append)
    assert (await shop.migrate(type="quorum")).outcome is Outcome.FINISHED
    await reader.qos(1)  # answered behind the cancel
    assert cancelled == [tag]


async def test_a_queue_that_got_a_message_right_before_is_emptied_once_more(
    shop: Any, killed: type[Exception]
) -> None:
    def watch(record: Any) -> None:
        if record["record"] == "begun" and record["step"] == Step.REPLACE:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(type="quorum", on_record=watch)
    await shop.publish(1, exchange="", key=shop.queue)
    steps: list[str] = []

    def note(record: Any) -> None:
        if record["record"] == "done":
            steps.append(record["event"])

    report = await shop.migrate(type="quorum", on_record=note)
    assert (report.outcome, report.lost) == (Outcome.FINISHED, 0)
    assert steps[0] == "not empty"
    assert await shop.taken() == shop.published


async def test_somebody_who_declares_it_otherwise_in_between_is_told(shop: Any) -> None:
    other = Queue(shop.queue, arguments={"x-max-length": 3})
    sleep = shop.sleep

    async def declare_in_between(seconds: float) -> None:
        if seconds == AWAY_S:
            await shop.declare(other)
        await sleep(seconds)

    shop.sleep = declare_in_between
    report = await shop.migrate(type="quorum")
    assert (report.outcome, report.step) == (Outcome.STOPPED, Step.REPLACE)
    assert "needs the new file first" in report.why
    shop.sleep = sleep
    assert (await shop.migrate(type="quorum")).outcome is Outcome.FINISHED
    assert (await shop.live()).arguments == {"x-queue-type": "quorum"}


async def test_somebody_who_declares_it_as_the_file_says_is_welcome(shop: Any) -> None:
    sleep = shop.sleep

    async def declare_in_between(seconds: float) -> None:
        if seconds == AWAY_S:
            await shop.declare(Queue(shop.queue, arguments={"x-queue-type": "quorum"}))
        await sleep(seconds)

    shop.sleep = declare_in_between
    assert (await shop.migrate(type="quorum")).outcome is Outcome.FINISHED
    assert await shop.is_bound_as_before()
