from __future__ import annotations

import asyncio

import pytest

from mqkit.errors import Closed
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.single import Single
from mqkit.pool.terms import Terms

pytestmark = pytest.mark.anyio


def single() -> Single:
    done: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
    return Single(Message("x", "k", b"body", Properties(message_id="m")), done, Terms())


async def test_the_first_that_is_said_of_it_counts() -> None:
    confirmed, expired, failed = single(), single(), single()
    confirmed.settle(0, (Confirmed("1"),))
    expired.expire()
    failed.fail(Closed("closed"))
    for each in (confirmed, expired, failed):
        each.settle(0, (Unknown("late"),))
        each.expire()
        each.fail(ValueError("late"))
    assert await confirmed.done == Confirmed("1")
    assert await expired.done is None
    with pytest.raises(Closed):
        await failed.done


async def test_it_counts_as_sent_when_it_is_taken_to_be_written() -> None:
    job = single()
    assert (job.count, job.octets, job.part(0, 1)) == (1, 4, job)
    assert not job.written
    assert job.to_write() == (job.message,)
    assert job.written


async def test_a_broker_that_blocks_is_an_outcome_like_any_other() -> None:
    refused, expired = single(), single()
    expired.expire()
    for job in (refused, expired):
        job.refuse("low on memory")
    assert await refused.done == Rejected(RejectReason.BLOCKED, "low on memory", "m")
    assert await expired.done is None
