"""A graceful end: take nothing new, let handlers finish, and only then let go of the channels."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

import anyio

_LOG = logging.getLogger(__name__)

DRAIN_TIMEOUT_S = 30.0
"""The time that orchestrators commonly leave a process between SIGTERM and SIGKILL."""


class Stoppable(Protocol):
    """A consumer of either kind."""

    async def stop(self) -> None:
        """Take nothing new; return when what was begun is settled."""
        ...


class Drainable(Protocol):
    """The publisher, or the caller."""

    async def drain(self) -> None:
        """Return when every publish, or call, that is under way has its outcome."""
        ...


async def drain(
    consumers: Sequence[Stoppable], under_way: Sequence[Drainable], timeout_s: float
) -> bool:
    """Stop all consumers at once, then wait for what is ``under_way``; ``timeout_s`` for all of it.

    False if time ran out: what is not settled by then goes back to its queue when its channel is
    closed, and is delivered again.
    """
    with anyio.move_on_after(timeout_s) as scope:
        async with anyio.create_task_group() as tasks:
            for consumer in consumers:
                tasks.start_soon(consumer.stop)
        for each in under_way:
            await each.drain()
    if scope.cancelled_caught and timeout_s:
        _LOG.warning("not everything was finished in %g s; the broker delivers it again", timeout_s)
    return not scope.cancelled_caught
