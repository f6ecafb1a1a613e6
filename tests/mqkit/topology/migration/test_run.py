"""Migrations from the first step to the last: killed at every record, aborted at every record."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError
from mqkit.topology.migration import Outcome, Stopped
from mqkit.topology.migration.steps import Step

pytestmark = pytest.mark.anyio

QUORUM = {"x-queue-type": "quorum"}
STEPS: list[Step] = [step for step in Step if step is not Step.FINISHED]


def steps_of(broker: Any) -> list[Step]:
    """All on the reference broker, every other one on RabbitMQ, which declares queues slowly;
    `make migration` kills at random there."""
    return STEPS if broker.is_reference else STEPS[::2]


RECORDS_MAX = 200
MESSAGES = 105
"""Two windows."""


async def test_a_queue_gets_other_arguments_and_keeps_its_messages(shop: Any) -> None:
    await shop.publish(MESSAGES)
    report = await shop.migrate(type="quorum")
    assert (report.outcome, report.step) == (Outcome.FINISHED, Step.FINISHED)
    assert (report.moved, report.lost) == (2 * MESSAGES, 0)
    live = await shop.live()
    assert live.arguments == QUORUM
    assert await shop.is_bound_as_before()
    assert await shop.names() == {shop.exchange, shop.queue}
    await shop.publish(1)
    assert await shop.taken() == shop.published


async def test_messages_keep_their_routing_key_and_properties(shop: Any) -> None:
    await shop.publish(1)
    await shop.migrate(type="quorum")
    delivery = await shop.channel.get(shop.queue)
    assert (delivery.routing_key, delivery.body, delivery.message_id) == (shop.key, b"x", "m0")
    assert delivery.headers.keys() <= {"x-delivery-count"}


async def test_a_second_run_finds_nothing_to_do(shop: Any) -> None:
    await shop.migrate(type="quorum")
    assert (await shop.migrate(type="quorum")).outcome is Outcome.NOTHING
    assert (await shop.migrate(max_length=9, overflow="drop-head")).outcome is Outcome.FINISHED
    assert (await shop.live()).arguments == {"x-max-length": 9, "x-overflow": "drop-head"}


async def test_nothing_is_changed_where_it_is_refused(shop: Any) -> None:
    await shop.publish(3)
    with pytest.raises(Stopped, match="has 3 messages, and argument x-max-length allows 2"):
        await shop.migrate(max_length=2, overflow="drop-head")
    assert await shop.names() == {shop.exchange, shop.queue}
    assert await shop.taken() == shop.published


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_run_that_is_killed_anywhere_is_taken_up_by_the_next(
    shop: Any, broker: Any, killed: type[Exception]
) -> None:
    """At each record on the reference broker, at one of three on RabbitMQ, which declares queues
    slowly; `make migration` kills at random there."""
    kills, apart = 0, 1 if broker.is_reference else 3
    for kill_at in range(1, RECORDS_MAX, apart):
        # There, back, there: each next one is a migration again.
        keys, arguments = ({"type": "quorum"}, QUORUM) if kill_at % 2 else ({}, {})
        await shop.publish(MESSAGES)
        try:
            await shop.migrate(kill_at=kill_at, **keys)
        except killed:
            kills += 1
        else:
            break
        await shop.publish(1)
        report = await shop.migrate(**keys)
        assert report.outcome in (Outcome.FINISHED, Outcome.NOTHING), kill_at
        assert report.lost == 0
        await check(shop, arguments, kill_at)
    assert kills * apart > 2 * len(Step)


async def check(shop: Any, arguments: dict[str, Any], when: object) -> None:
    """The queue is as it should be, and every message is there once."""
    assert (await shop.live()).arguments == arguments, when
    assert await shop.is_bound_as_before(), when
    assert await shop.names() == {shop.exchange, shop.queue}, when
    assert sorted(await shop.taken()) == sorted(shop.published), when
    shop.published.clear()


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_run_that_is_killed_at_any_step_can_be_aborted(
    shop: Any, broker: Any, killed: type[Exception]
) -> None:
    for step in steps_of(broker):
        await shop.publish(MESSAGES)
        await killed_at(shop, killed, step)
        await shop.publish(1)
        report = await shop.migrate(abort=True, type="quorum")
        assert (report.outcome, report.lost) == (Outcome.ABORTED, 0), step
        await check(shop, {}, step)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_an_abort_that_is_killed_at_any_step_is_taken_up_by_the_next(
    shop: Any, broker: Any, killed: type[Exception]
) -> None:
    """Of a migration whose new queue is there already, so that the abort goes through all steps."""
    for step in steps_of(broker):
        await shop.publish(MESSAGES)
        await killed_at(shop, killed, Step.RETURN)
        await killed_at(shop, killed, step, abort=True)
        with pytest.raises(ConfigurationError, match="finish it with --abort"):
            await shop.migrate(type="quorum")
        await shop.publish(1)
        report = await shop.migrate(abort=True, type="quorum")
        assert (report.outcome, report.lost) == (Outcome.ABORTED, 0), step
        await check(shop, {}, step)


async def killed_at(shop: Any, killed: type[Exception], step: Step, *, abort: bool = False) -> None:
    """Have a migration to a quorum queue killed when ``step`` begins."""

    def watch(record: Any) -> None:
        if record["record"] == "begun" and record["step"] == step:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(type="quorum", abort=abort, on_record=watch)


async def test_a_queue_that_somebody_deleted_meanwhile_is_declared(
    shop: Any, killed: type[Exception]
) -> None:
    await shop.publish(MESSAGES)
    await killed_at(shop, killed, Step.EMPTY)
    await shop.channel.delete_queue(shop.queue)
    await shop.publish(2)
    report = await shop.migrate(type="quorum")
    assert report.outcome is Outcome.FINISHED
    assert (await shop.live()).arguments == QUORUM
    assert await shop.is_bound_as_before()
    assert await shop.taken() == shop.published


async def test_a_queue_that_was_declared_otherwise_in_the_gap_is_replaced(
    shop: Any, killed: type[Exception]
) -> None:
    await shop.publish(3)
    await killed_at(shop, killed, Step.REPLACE)
    await shop.channel.delete_queue(shop.queue)
    await shop.declare(Queue(shop.queue, arguments={"x-max-length": 7}))
    assert (await shop.migrate(type="quorum")).outcome is Outcome.FINISHED
    assert (await shop.live()).arguments == QUORUM
    assert await shop.taken() == shop.published


async def test_one_process_at_a_time(shop: Any) -> None:
    lock = Queue(f"{shop.queue}.migrating.lock", durable=False, exclusive=True)
    await shop.declare(lock)
    shop.timeout_s = 1.0
    with pytest.raises(Stopped, match="another process"):
        await shop.migrate(type="quorum")
    await shop.channel.delete_queue(lock.name)


async def test_a_journal_of_another_queue_is_left_alone(shop: Any, killed: type[Exception]) -> None:
    await killed_at(shop, killed, Step.FETCH)
    text = shop.journal.read_text()
    shop.journal.write_text(text.replace(shop.queue, f"{shop.queue}2"))
    with pytest.raises(ConfigurationError, match="is the journal of"):
        await shop.migrate(type="quorum")
    shop.journal.write_text(text)
    assert (await shop.migrate(type="quorum")).outcome is Outcome.FINISHED


async def test_an_abort_of_nothing_says_so(shop: Any) -> None:
    with pytest.raises(ConfigurationError, match="there is no journal"):
        await shop.migrate(abort=True, type="quorum")
    await shop.migrate(type="quorum")
    with pytest.raises(ConfigurationError, match="is finished"):
        await shop.migrate(abort=True, type="quorum")
