from __future__ import annotations

import gc
import weakref

import pytest

from mqkit.message import Message
from mqkit.outcome import Confirmed, Rejected, RejectReason, Unknown
from mqkit.pool.batch import Batch, BatchRun
from mqkit.pool.terms import Terms

pytestmark = pytest.mark.anyio

MESSAGES = [Message("x", "k", b"1"), Message("x", "k", b"2")]
REFUSED = Rejected(RejectReason.TOO_LARGE)


def batch_of(*bodies: bytes) -> Batch:
    return Batch([Message("x", "k", body) for body in bodies], Terms())


def bodies(*runs: BatchRun) -> list[list[bytes]]:
    return [[message.body for message in run.to_write()] for run in runs]


async def test_it_is_over_when_all_have_an_outcome() -> None:
    batch = Batch(MESSAGES, Terms())
    batch.settle(1, (Confirmed("2"),))
    assert not batch.done.done()
    assert batch.missing == 1
    batch.settle(0, (Confirmed("1"),))
    assert batch.done.done()
    assert batch.missing == 0
    assert batch.outcomes("") == [Confirmed("1"), Confirmed("2")]


async def test_a_run_settles_its_own_part() -> None:
    batch = batch_of(b"1", b"2", b"3", b"4")
    [run] = batch.runs(1000)
    middle = run.part(1, 4).part(0, 2)
    assert (middle.count, middle.octets, bodies(middle)) == (2, 2, [[b"2", b"3"]])
    middle.settle(1, [Confirmed("3")])
    run.settle(0, [Confirmed("1"), Confirmed("2")])
    run.settle(3, [Confirmed("4")])
    assert [outcome.message_id for outcome in batch.outcomes("")] == ["1", "2", "3", "4"]


async def test_a_broker_that_blocks_refuses_a_run_and_no_other() -> None:
    batch = batch_of(b"1", b"2", b"3")
    [run] = batch.runs(1000)
    assert run.terms is batch.terms
    run.part(1, 3).refuse("low on memory")
    run.settle(0, [Confirmed("1")])
    assert batch.done.done()
    blocked = Rejected(RejectReason.BLOCKED, "low on memory")
    assert batch.outcomes("") == [Confirmed("1"), blocked, blocked]


async def test_what_has_an_outcome_already_is_in_no_run() -> None:
    batch = batch_of(b"large", b"1", b"2", b"large", b"large", b"3", b"large")
    assert batch.larger_than(4) == [0, 3, 4, 6]
    assert batch.larger_than(5) == []
    for position in batch.larger_than(4):
        batch.settle(position, (REFUSED,))
    runs = batch.runs(1000)
    assert bodies(*runs) == [[b"1", b"2"], [b"3"]]
    runs[1].settle(0, [Confirmed("3")])
    runs[0].settle(0, [Confirmed("1"), Confirmed("2")])
    assert [outcome.message_id for outcome in batch.outcomes("")] == [
        *(None, "1", "2", None, None, "3", None)
    ]


async def test_a_run_ends_with_the_message_that_fills_it() -> None:
    batch = batch_of(b"12", b"34", b"5", b"6789", b"0", b"1", b"2")
    assert bodies(*batch.runs(4)) == [[b"12", b"34"], [b"5", b"6789"], [b"0", b"1", b"2"]]
    assert len(batch.runs(100)) == 1


async def test_nothing_is_no_run_and_over() -> None:
    batch = Batch([], Terms())
    assert batch.runs(1000) == []
    assert batch.larger_than(0) == []
    assert batch.done.done()
    assert batch.outcomes("") == []


async def test_expired_it_says_what_was_sent_and_what_was_not() -> None:
    batch = Batch(MESSAGES, Terms())
    [run] = batch.runs(1000)
    run.part(0, 1).to_write()
    batch.expire()
    assert batch.outcomes("in time") == [
        Unknown("the message was sent, but not confirmed in time"),
        Unknown("the message was never sent in time", sent=False),
    ]


async def test_what_was_given_out_does_not_change_any_more() -> None:
    batch = Batch(MESSAGES, Terms())
    batch.settle(0, (Confirmed("1"),))
    batch.expire()
    given = batch.outcomes("in time")
    batch.abandon()
    batch.settle(1, (Confirmed("late"),))
    assert given[1] == Unknown("the message was never sent in time", sent=False)


async def test_abandoned_it_goes_without_the_garbage_collector() -> None:
    class Kept(Batch):
        pass

    gc.disable()
    try:
        batch = Kept(MESSAGES, Terms())
        gone = weakref.ref(batch)
        runs = batch.runs(1000)
        batch.abandon()
        del batch, runs
        assert gone() is None
    finally:
        gc.enable()
