"""A reader that begins no frame while it is paused."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.transport.over_aio_pika.tap import TappedReader

pytestmark = pytest.mark.anyio

FRAME = b"\x01\x00\x01\x00\x00\x00\x04abcd\xce"


def reader_of(*frames: bytes) -> TappedReader:
    inner = asyncio.StreamReader()
    for frame in frames:
        inner.feed_data(frame)
    return TappedReader(inner, lambda frame: None)


async def read_frame(reader: TappedReader) -> bytes:
    return b"".join([await reader.readexactly(n) for n in (1, 6, 5)])


async def pass_by() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_frame_that_has_begun_is_read_to_its_end_and_no_other_begins() -> None:
    reader = reader_of(FRAME, FRAME)
    first = await reader.readexactly(1)
    for _ in range(2):
        reader.pause(None)
    assert first + b"".join([await reader.readexactly(n) for n in (6, 5)]) == FRAME
    waiting = asyncio.create_task(read_frame(reader))
    await pass_by()
    assert (waiting.done(), reader.is_paused) == (False, True)
    for _ in range(2):
        reader.resume()
    async with asyncio.timeout(10):
        assert await waiting == FRAME
    assert not reader.is_paused


async def test_now_and_then_one_is_read_all_the_same() -> None:
    reader = reader_of(FRAME, FRAME)
    reader.pause(0.001)
    async with asyncio.timeout(10):
        assert [await read_frame(reader), await read_frame(reader)] == [FRAME, FRAME]
