"""Draining: what is begun is finished, what is not begun goes back, and time is limited."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from mqkit import App, Batch
from mqkit.consumer.drain import drain

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


class Part:
    """Something to stop, that takes until it is told."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.may_end = asyncio.Event()

    async def stop(self) -> None:
        self.stopping.set()
        await self.may_end.wait()

    async def drain(self) -> None:
        await self.stop()


async def test_consumers_stop_together_and_the_publisher_after_them() -> None:
    one, two, publisher = Part(), Part(), Part()
    task = asyncio.create_task(drain([one, two], [publisher], WAIT_S))
    await one.stopping.wait()
    await two.stopping.wait()
    one.may_end.set()
    assert not publisher.stopping.is_set()
    two.may_end.set()
    await publisher.stopping.wait()
    publisher.may_end.set()
    assert await task


async def test_time_that_runs_out_is_said(caplog: pytest.LogCaptureFixture) -> None:
    assert not await drain([Part()], [Part()], 0.01)
    assert "delivers it again" in caplog.text


async def test_leaving_finishes_what_is_begun_and_gives_back_the_rest(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app()
    leaving = asyncio.Event()

    @app.consumer(scene.queue, prefetch=10)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        await leaving.wait()

    await scene.put(*[b""] * 5)
    async with app:
        await inbox.until(1)
        asyncio.get_running_loop().call_later(0.05, leaving.set)
    assert len(inbox.items) == 1
    assert app.stats.acked == 1
    assert app.stats.delivered == 1 + app.stats.returned
    assert await scene.ready() == 4


async def test_a_handler_that_does_not_end_in_time_is_cancelled_and_its_message_goes_back(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(drain_timeout=0.05)

    @app.consumer(scene.queue)
    async def handle(body: bytes) -> None:
        inbox.add("begun")
        try:
            await asyncio.Event().wait()
        finally:
            inbox.add("cancelled")

    await scene.put(b"")
    async with app:
        await inbox.until(1)
    assert inbox.items == ["begun", "cancelled"]
    assert app.stats.acked == 0
    assert await scene.ready() == 1


async def test_a_batch_that_is_not_full_goes_back(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.batch_consumer(scene.queue, size=10, within="10m")
    async def handle(batch: Batch[bytes]) -> None:
        raise AssertionError("the batch never fills up")

    await scene.put(*[b""] * 5)
    async with app:
        await scene.until_ready(0)
    assert app.stats.returned == 5
    assert await scene.ready() == 5


PROGRAM = """
import asyncio, sys
import mqkit

app = mqkit.App(sys.argv[1], drain_timeout="10s")

@app.consumer(sys.argv[2], concurrency=2, prefetch=4)
async def handle(body: bytes, delivery: mqkit.Delivery) -> None:
    print("begun", delivery.message_id, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print("done", delivery.message_id, flush=True)

app.run()
print("drained", app.stats.acked, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_drains_a_service(
    scene: Any, tmp_path: Path, number: signal.Signals
) -> None:
    program = tmp_path / "service.py"
    program.write_text(PROGRAM)
    await scene.put(*[b""] * 6)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(str(program), scene.url, scene.queue),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        async with asyncio.timeout(WAIT_S):
            begun = [await process.stdout.readline() for _ in range(2)]
            assert [line.split()[0] for line in begun] == [b"begun"] * 2
            os.kill(process.pid, number)
            # What was not begun is back in the queue while the handlers still run.
            await scene.until_ready(4)
            process.stdin.close()  # lets the handlers end
            rest = (await process.stdout.read()).split(b"\n")
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert sorted(line.split()[0] for line in rest[:2]) == [b"done"] * 2
    assert rest[2] == b"drained 2"
    assert await scene.ready() == 4
