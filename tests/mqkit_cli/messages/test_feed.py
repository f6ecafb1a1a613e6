"""Lines into batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from mqkit_cli.messages.feed import BATCH, BATCH_BYTES, READ_AHEAD, LineFeed

DEADLINE_S = 20


async def drained(feed: LineFeed) -> list[list[bytes]]:
    batches = []
    async with asyncio.timeout(DEADLINE_S):
        while batch := await feed.batch():
            batches.append(batch)
    return batches


@pytest.mark.anyio
async def test_everything_comes_in_order_in_bounded_batches() -> None:
    lines = [str(number).encode() for number in range(READ_AHEAD * 2 + 1)]
    batches = await drained(LineFeed(lines))
    assert [line for batch in batches for line in batch] == lines
    assert max(map(len, batches)) <= BATCH


@pytest.mark.anyio
async def test_a_batch_of_large_lines_is_short() -> None:
    large = b"x" * (BATCH_BYTES // 2)
    batches = await drained(LineFeed([large] * 5))
    assert sum(map(len, batches)) == 5
    assert max(map(len, batches)) <= 2


@pytest.mark.anyio
async def test_a_slow_pipe_is_not_waited_for() -> None:
    more = threading.Event()

    def slow() -> Iterator[bytes]:
        yield b"first"
        assert more.wait(DEADLINE_S)
        yield b"second"

    feed = LineFeed(slow())
    async with asyncio.timeout(DEADLINE_S):
        assert await feed.batch() == [b"first"]
        more.set()
        assert await feed.batch() == [b"second"]
        assert await feed.batch() == []
        assert await feed.batch() == []


@pytest.mark.anyio
async def test_reading_ahead_is_bounded() -> None:
    read = 0
    full = threading.Event()

    def endless() -> Iterator[bytes]:
        nonlocal read
        while read < READ_AHEAD * 10:
            read += 1
            if read > READ_AHEAD:
                full.set()
            yield b"x"

    feed = LineFeed(endless())
    await asyncio.to_thread(full.wait, DEADLINE_S)
    assert read == READ_AHEAD + 1  # the last one is held, and waits for room
    await drained(feed)
    assert read == READ_AHEAD * 10


@pytest.mark.anyio
async def test_what_reading_raises_comes_after_the_lines_before() -> None:
    def broken() -> Iterator[bytes]:
        yield b"first"
        raise OSError("the disk is gone")

    feed = LineFeed(broken())
    async with asyncio.timeout(DEADLINE_S):
        assert await feed.batch() == [b"first"]
        with pytest.raises(OSError, match="the disk is gone"):
            await feed.batch()
