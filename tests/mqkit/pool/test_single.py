from __future__ import annotations

import asyncio

import pytest

from mqkit.errors import Closed
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Unknown
from mqkit.pool.job import unsettled
from mqkit.pool.single import Single

pytestmark = pytest.mark.anyio


def single() -> Single:
    done: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
    return Single(Message("x", "k", b"body"), done)


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
    assert unsettled(job.written, "in time") == "the message was never sent in time"
    assert job.to_write() == (job.message,)
    assert unsettled(job.written, "in time") == "the message was sent, but not confirmed in time"
