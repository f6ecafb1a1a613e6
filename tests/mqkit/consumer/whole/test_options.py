"""The options of consumers, as an app says them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit import App, Batch, ChannelError, ConfigurationError

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_the_consumer_of_the_higher_priority_gets_the_messages(
    scene: Any, new_inbox: Callable[[], Any], transport: str
) -> None:
    app: App = scene.app(transport=transport)
    low, high, higher = new_inbox(), new_inbox(), new_inbox()

    @app.consumer(scene.queue)
    async def handle(body: bytes) -> None:
        low.add(body)

    @app.consumer(scene.queue, arguments={"x-priority": 5})
    async def handle_first(body: bytes) -> None:
        high.add(body)

    @app.batch_consumer(scene.queue, size=10, within="5ms", priority=7)
    async def handle_before_all(batch: Batch[bytes]) -> None:
        for body in batch:
            higher.add(body)

    async with app:
        await app.wait_ready(WAIT_S)
        for body in (b"1", b"2", b"3"):
            assert await app.publish("", scene.queue, body)
            await higher.when(lambda items, body=body: body in items)
    assert (low.items, high.items) == ([], [])


@pytest.mark.parametrize("exclusive", [False, True])
async def test_an_exclusive_consumer_that_is_refused_says_so_in_words(
    scene: Any, inbox: Any, exclusive: bool
) -> None:
    holder: App = scene.app()
    second: App = scene.app()
    for app, is_exclusive in ((holder, True), (second, exclusive)):

        @app.consumer(scene.queue, exclusive=is_exclusive)
        async def handle(body: bytes) -> None:
            inbox.add(body)

    words = "must be the only one" if exclusive else "another program consumes .* exclusively"
    async with holder:
        await holder.wait_ready(WAIT_S)
        with pytest.raises(ChannelError, match=words) as refused:
            async with second:
                await second.wait_ready(WAIT_S)
        assert refused.value.reply_code == 403
    async with second:  # the queue is free
        assert await second.publish("", scene.queue, b"x")
        await inbox.until(1)


def test_options_that_make_no_sense_are_refused_at_the_call() -> None:
    app = App("amqp://127.0.0.1/")
    wrong: list[dict[str, Any]] = [
        {"priority": 1, "arguments": {"x-priority": 1}},
        {"priority": "high"},
        {"arguments": {"x": object()}},
        {"exclusive": 1},
    ]
    for options in wrong:
        with pytest.raises(ConfigurationError):
            app.consumer("q", **options)
        with pytest.raises(ConfigurationError):
            app.batch_consumer("q", size=5, **options)
    with pytest.raises(ConfigurationError, match="ack='sometimes'"):
        app.consumer("q", ack="sometimes")  # type: ignore[arg-type]
