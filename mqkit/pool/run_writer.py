"""Publishing with one callback for all the outcomes, on any channel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.transport.seam import Channel, OnSettled, PublishesRuns

RunWriter: TypeAlias = Callable[[Sequence[Message], OnSettled], Awaitable[None]]
"""See :meth:`mqkit.transport.seam.PublishesRuns.publish_run`."""


def run_writer(channel: Channel) -> RunWriter:
    """The channel's own way, or futures whose callbacks tell of one message each."""
    if isinstance(channel, PublishesRuns):
        return channel.publish_run
    return partial(_publish_with_futures, channel)


async def _publish_with_futures(
    channel: Channel, messages: Sequence[Message], on_settled: OnSettled
) -> None:
    for position, future in enumerate(await channel.publish_many(messages)):
        future.add_done_callback(partial(_tell, on_settled, position))


def _tell(on_settled: OnSettled, position: int, future: asyncio.Future[Outcome]) -> None:
    on_settled(position, (future.result(),))
