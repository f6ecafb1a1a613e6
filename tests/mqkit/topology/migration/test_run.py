"""Migrations from the first step to the last: killed at every record, aborted at every record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError
from mqkit.topology.migration import Outcome, Stopped
from mqkit.topology.migration.journal import read_journal
from mqkit.topology.migration.steps import Step

pytestmark = pytest.mark.anyio

QUORUM = {"x-queue-type": "quorum"}
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


async def killed_everywhere(shop: Any, killed: type[Exception], then: Callable[..., Any]) -> int:
    """Migrate there and back, killed at each record in turn; returns the number of kills."""
    kinds: list[dict[str, Any]] = [{}, {"type": "quorum"}]
    for kill_at in range(1, RECORDS_MAX):
        keys = kinds[kill_at % 2]
        await shop.publish(MESSAGES - len(shop.published))
        try:
            await shop.migrate(kill_at=kill_at, **keys)
        except killed:
            await shop.publish(1)
            await then(kill_at=kill_at, keys=keys, before=kinds[(kill_at + 1) % 2])
        else:
            return kill_at - 1
        assert await shop.is_bound_as_before(), kill_at
        assert await shop.names() == {shop.exchange, shop.queue}, kill_at
        assert sorted(await shop.taken()) == sorted(shop.published), kill_at
        shop.published.clear()
    raise AssertionError("it never ends")


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_run_that_is_killed_anywhere_is_taken_up_by_the_next(
    shop: Any, killed: type[Exception]
) -> None:
    async def go_on(*, kill_at: int, keys: dict[str, Any], before: dict[str, Any]) -> None:
        report = await shop.migrate(**keys)
        assert report.outcome in (Outcome.FINISHED, Outcome.NOTHING), kill_at
        assert (await shop.live()).arguments == (QUORUM if keys else {}), kill_at
        assert report.lost == 0

    kills = await killed_everywhere(shop, killed, go_on)
    assert kills > 2 * len(Step)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_run_that_is_killed_anywhere_can_be_aborted(
    shop: Any, killed: type[Exception]
) -> None:
    async def abort(*, kill_at: int, keys: dict[str, Any], before: dict[str, Any]) -> None:
        if is_finished(shop):
            return
        report = await shop.migrate(abort=True, **keys)
        assert report.outcome is Outcome.ABORTED, kill_at
        assert (await shop.live()).arguments == (QUORUM if before else {}), kill_at
        # So that the next one begins with the other kind.
        await shop.migrate(**keys)

    await killed_everywhere(shop, killed, abort)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_an_abort_that_is_killed_anywhere_is_taken_up_by_the_next(
    shop: Any, killed: type[Exception]
) -> None:
    await shop.publish(MESSAGES)
    at_return = 0
    for kill_at in range(1, RECORDS_MAX):
        at_return = await killed_at(shop, killed, Step.RETURN)
        try:
            await shop.migrate(abort=True, kill_at=kill_at, type="quorum")
        except killed:
            if is_finished(shop):
                break
            with pytest.raises(ConfigurationError, match="finish it with --abort"):
                await shop.migrate(type="quorum")
            report = await shop.migrate(abort=True, type="quorum")
            assert report.outcome is Outcome.ABORTED
        else:
            break
        assert (await shop.live()).arguments == {}
        assert await shop.is_bound_as_before()
    assert at_return
    assert await shop.names() == {shop.exchange, shop.queue}
    assert sorted(await shop.taken()) == sorted(shop.published)


def is_finished(shop: Any) -> bool:
    """True if the run was killed after its last record."""
    progress = read_journal(shop.journal)
    assert progress is not None
    return progress.is_finished


async def killed_at(shop: Any, killed: type[Exception], step: Step) -> int:
    """Have a migration killed when ``step`` begins; returns the number of records before."""
    seen = 0

    def watch(record: Any) -> None:
        nonlocal seen
        seen += 1
        if record["record"] == "begun" and record["step"] == step:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(type="quorum", on_record=watch)
    return seen


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
