"""Acked before the handler: at most once, and what fails then is told."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel

from mqkit import (
    App,
    ConfigurationError,
    Delivery,
    Park,
    Properties,
    StaleDelivery,
    Stats,
)
from mqkit.consumer import ConsumeOptions, MessageHandler, Pause, QueueRules, Settler
from mqkit.consumer.acks.before import AckBeforeConsumer
from mqkit.consumer.settlement_steps import Arrival
from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


class Item(BaseModel):
    number: int


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_a_message_is_gone_from_its_queue_while_its_handler_runs(
    scene: Any, inbox: Any, transport: str
) -> None:
    app: App = scene.app(transport=transport)
    go = asyncio.Event()

    @app.consumer(scene.queue, ack="before", prefetch=1)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        await go.wait()

    await scene.put(b"1", b"2", b"3")
    async with app:
        await inbox.until(1)
        # The first is acked, so a prefetch of one lets the second come; the third stays.
        await scene.until_ready(1)
        assert app.stats.acked == 1
        go.set()
        await inbox.until(3)
    assert inbox.items == [b"1", b"2", b"3"]
    assert app.stats == Stats(delivered=3, acked=3)


async def test_what_fails_is_counted_and_logged_and_neither_retried_nor_parked(
    scene: Any, inbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app: App = scene.app()

    @app.consumer(scene.queue, ack="before", timeout=0.05)
    async def handle(item: Item) -> None:
        inbox.add(item.number)
        if item.number == 0:
            raise ValueError("a mistake")
        if item.number == 1:
            raise Park("no parking lot here")
        if item.number == 2:
            await asyncio.Event().wait()

    bodies = [b'{"number": %d}' % number for number in range(4)]
    await scene.put(*bodies[:3], b"no json", bodies[3])
    async with app:
        await inbox.until(4)
    assert inbox.items == [0, 1, 2, 3]
    assert (app.stats.acked, app.stats.failed_too_late) == (5, 4)
    assert (app.stats.misfits, app.stats.timeouts) == (1, 1)
    assert (app.stats.requeued, app.stats.retried, app.stats.parked) == (0, 0, 0)
    assert await scene.ready() == 0
    for number, error in enumerate(("ValueError", "Park", "HandlerTimeout", "BodyMisfit")):
        assert f"message m{number} from {scene.queue} stays settled after {error}" in caplog.text


async def test_what_is_not_begun_goes_back_at_the_end(scene: Any, inbox: Any) -> None:
    app: App = scene.app()
    leaving = asyncio.Event()

    @app.consumer(scene.queue, ack="before", prefetch=10)
    async def handle(body: bytes) -> None:
        inbox.add(body)
        await leaving.wait()

    await scene.put(*[b""] * 5)
    async with app:
        await inbox.until(1)
        asyncio.get_running_loop().call_later(0.05, leaving.set)
    assert await scene.ready() == 4
    assert (app.stats.acked, app.stats.failed_too_late) == (1, 0)


async def test_what_is_handled_when_a_connection_is_cut_does_not_come_again(
    scene: Any, inbox: Any
) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(url=proxy.url)

        @app.consumer(scene.queue, ack="before", prefetch=5)
        async def handle(body: bytes) -> None:
            inbox.add(body)
            if len(inbox.items) == 1:
                # A round trip: by its end the broker has the ack.
                assert await app.publish("", f"{scene.queue}.dead", b"")
                await scene.until_ready(0)
                proxy.cut()
                assert await app.publish("", f"{scene.queue}.dead", b"")

        await scene.put(b"0", b"1", b"2")
        async with app:
            await inbox.until(3)
    assert inbox.items == [b"0", b"1", b"2"]
    assert app.stats.acked == 3


async def test_what_can_not_be_acked_is_not_begun() -> None:
    """Its channel went when the ack was on its way: the broker delivers it again."""

    class Gone:
        is_open = True

        async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
            raise StaleDelivery("the channel is gone")

    async def handle(body: bytes) -> None:
        raise AssertionError("the handler must not see it")

    stats = Stats()
    settler = Settler(QueueRules("q"), cast(Any, None), stats, Pause())
    consumer = AckBeforeConsumer(
        "q",
        MessageHandler(handle),
        settler,
        cast(Any, None),
        options=ConsumeOptions(5),
        concurrency=1,
    )
    delivery = Delivery("", "q", b"", Properties(), 1, False)
    await consumer.attempt(Arrival(cast(Any, Gone()), delivery))
    assert stats == Stats(stale_acks=1)


PROGRAM = """
import os, sys
import mqkit

app = mqkit.App(sys.argv[1])

@app.consumer(sys.argv[2], ack="before", prefetch=1)
async def handle(body: bytes) -> None:
    os._exit(3)

app.run()
"""


async def test_a_message_that_ends_its_process_does_not_end_the_next_one(
    scene: Any, tmp_path: Path
) -> None:
    program = tmp_path / "ends.py"
    program.write_text(PROGRAM)
    await scene.put(b"deadly")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(program), scene.url, scene.queue, env=dict(os.environ)
    )
    async with asyncio.timeout(WAIT_S):
        assert await process.wait() == 3
    channel = await scene.outside.channel()
    async with asyncio.timeout(WAIT_S):
        # Until the broker has seen the end of the connection, the message would be hidden.
        while await scene.consumers():
            pass
    assert await channel.get(scene.queue, no_ack=True) is None
    await channel.close()


async def test_a_queue_that_retries_is_refused_at_the_call(scene: Any) -> None:
    app: App = scene.app("{retry: {after: [1s], then: park}}")
    with pytest.raises(ConfigurationError, match="would never be used"):
        app.consumer(scene.queue, ack="before")
