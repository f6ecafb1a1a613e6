"""The handlers: what they write down, and when they raise."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mqkit.message import Delivery, Properties
from mqkit.retry import Failure, RetryPolicy, to_parking_lot, to_replay, to_tier
from mqkit.topology import QueueModel
from mqkit_cli.demo.handlers import (
    Bug,
    BugInTheHandler,
    TransientFault,
    failing_handler,
    storing_handler,
)
from mqkit_cli.demo.journal import Entry, Event, Journal, read_journal

QUEUE = QueueModel("q", retry=RetryPolicy.of("1s"))
NUMBERS = {"transient": 0, "incurable": 1, "plain": 2}
FAILURE = Failure("E", "it failed", datetime(2001, 1, 1, tzinfo=UTC))

pytestmark = pytest.mark.anyio


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path) as opened:
        yield opened


def written(journal: Journal) -> dict[Event, list[Entry]]:
    return {event: lines for event, lines in read_journal(journal.folder).items() if lines}


def delivery(identity: str | None) -> Delivery:
    return Delivery("e", "k", b"{}", Properties(message_id=identity), 1, False)


def again(failed: Delivery) -> Delivery:
    return _arrived(to_tier(failed, "q", 1000, FAILURE).properties)


def replayed(failed: Delivery) -> Delivery:
    parked = _arrived(to_parking_lot(failed, "q", "why", FAILURE).properties)
    return _arrived(to_replay(parked, "q").properties)


def _arrived(properties: Properties) -> Delivery:
    return Delivery("", "q", b"{}", properties, 1, False)


async def test_a_plain_message_is_processed(journal: Journal) -> None:
    await failing_handler(QUEUE, NUMBERS, journal, Bug())(delivery("plain"))
    assert written(journal) == {Event.PROCESSED: [("q", "plain")]}


async def test_a_transient_fault_is_over_at_the_next_attempt(journal: Journal) -> None:
    handle = failing_handler(QUEUE, NUMBERS, journal, Bug())
    first = delivery("transient")
    with pytest.raises(TransientFault):
        await handle(first)
    await handle(again(first))
    entry = [("q", "transient")]
    assert written(journal) == {Event.RETRIED: entry, Event.PROCESSED: entry}


async def test_the_bug_parks_and_a_replay_after_the_fix_processes(journal: Journal) -> None:
    bug = Bug()
    handle = failing_handler(QUEUE, NUMBERS, journal, bug)
    first = delivery("incurable")
    last = again(first)
    for attempt in (first, last):
        with pytest.raises(BugInTheHandler):
            await handle(attempt)
    bug.is_fixed = True
    await handle(replayed(last))
    entry = [("q", "incurable")]
    assert written(journal) == {
        Event.RETRIED: entry,
        Event.PARKED: entry,
        Event.REPLAYED: entry,
        Event.PROCESSED: entry,
    }


async def test_a_message_of_somebody_else_is_processed_too(journal: Journal) -> None:
    handle = failing_handler(QUEUE, NUMBERS, journal, Bug())
    await handle(delivery("unheard of"))
    await handle(delivery(None))
    assert written(journal) == {Event.PROCESSED: [("q", "unheard of"), ("q", "")]}


async def test_the_warehouse_stores(journal: Journal) -> None:
    await storing_handler("w", journal)(delivery("a"))
    assert written(journal) == {Event.STORED: [("w", "a")]}
