"""Publishing over one channel: the step by which all that leaves a lot for a queue leaves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.transport.seam import Channel

PublishOver: TypeAlias = Callable[
    [Channel, Sequence[Message]], Coroutine[Any, Any, list[asyncio.Future[Outcome]]]
]
"""Publishes messages over a channel with confirms, in order; the outcomes are awaited."""


async def publish_over(
    channel: Channel, messages: Sequence[Message]
) -> list[asyncio.Future[Outcome]]:
    """As :meth:`mqkit.transport.seam.Channel.publish_many`."""
    return await channel.publish_many(messages)
