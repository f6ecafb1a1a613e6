"""Log records about messages of a real broker, as a JSON formatter shows them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from mqkit import App, Delivery
from mqkit.json_log import JsonFormatter

pytestmark = pytest.mark.anyio

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Lines(logging.Handler):
    """Keeps the lines of the consumer."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter())
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler, logger = Lines(), logging.getLogger("mqkit.consumer")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


async def test_each_attempt_is_a_line_with_queue_id_attempt_and_trace(
    scene: Any, inbox: Any, lines: Lines
) -> None:
    app: App = scene.app("{retry: {after: [10ms], then: park}}")

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(delivery.attempt)
        raise ValueError("never works")

    headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    async with app:
        assert await app.publish("", scene.queue, b"secret", message_id="m", headers=headers)
        await inbox.until(2)
    found = [json.loads(line) for line in lines.lines]
    told = [line for line in found if "message_id" in line]
    assert [
        (line["queue"], line["message_id"], line["attempt"], line["trace_id"]) for line in told
    ] == [(scene.queue, "m", 1, TRACE), (scene.queue, "m", 2, TRACE)]
    assert "secret" not in "".join(lines.lines)
