"""Messages that a full queue dead-lettered into a lot, against both brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.lots import Choice, peek
from mqkit.lots.replay import ReplayRequest, replay

pytestmark = pytest.mark.anyio

NUMBERS = [b"%d" % number for number in range(7)]


async def test_they_are_seen_with_the_reason_and_can_be_replayed(
    yard: Any, unique: Callable[[str], str]
) -> None:
    small = unique("small")
    arguments = {
        "x-max-length": 2,
        "x-overflow": "drop-head",
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": yard.lot,
    }
    channel = await yard.connection.channel()
    await channel.declare_queue(Queue(small, arguments=arguments))
    await yard.publish(small, *NUMBERS)
    seen = await peek(yard.link, yard.lot, Choice(limit=10))
    assert [message.delivery.body for message in seen] == NUMBERS[:5]
    assert {message.reason for message in seen} == {"the queue was full"}
    assert (await replay(yard.link, ReplayRequest(yard.lot))).replayed == 5
    assert await yard.bodies(small) == NUMBERS[5:]
    replayed = await yard.drain(yard.name)
    assert [delivery.body for delivery in replayed] == NUMBERS[:5]
    assert not any("x-death" in delivery.headers for delivery in replayed)
