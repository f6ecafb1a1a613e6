"""Publishing what failed to its retry tier or parking lot, also where that was deleted.

A queue that somebody deletes under a running app is not there again before the next reconnect, and
until then every message that fails would go round: no queue takes it, so it is requeued, at attempt
0 each time. So what comes back unroutable has the topology declared again, and is published once
more before anybody gives the delivery back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from mqkit.errors import MqkitError
from mqkit.message import Message
from mqkit.outcome import Outcome, Rejected, RejectReason

_LOG = logging.getLogger(__name__)

PublishMany: TypeAlias = Callable[[Sequence[Message]], Awaitable[Sequence[Outcome]]]
"""Publishes with confirms; one outcome each. May raise :exc:`~mqkit.errors.MqkitError`."""

NOWHERE = frozenset({RejectReason.UNROUTABLE, RejectReason.NO_EXCHANGE})
"""Reasons that say that something is not declared."""


class Republisher:
    """Publishes messages, and those that went nowhere once more after ``declare``.

    ``declare`` declares all that the app declares, and may raise :exc:`~mqkit.errors.MqkitError`.
    It is called once for all that went nowhere at about the same time. One for all consumers.
    """

    def __init__(self, publish_many: PublishMany, declare: Callable[[], Awaitable[None]]) -> None:
        self._publish_many = publish_many
        self._declare = declare
        self._declaring = asyncio.Lock()
        self._declarations = 0

    async def publish_many(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        """One outcome for each message, in order. Raises what publishing them the first time
        does."""
        declarations = self._declarations
        outcomes = list(await self._publish_many(messages))
        nowhere = [place for place, outcome in enumerate(outcomes) if _is_nowhere(outcome)]
        if not nowhere:
            return outcomes
        try:
            await self._declare_since(declarations)
            again = await self._publish_many([messages[place] for place in nowhere])
        except MqkitError as error:
            _LOG.warning("the topology can't be declared again: %s", error)
            return outcomes
        for place, outcome in zip(nowhere, again, strict=True):
            outcomes[place] = outcome
        return outcomes

    async def _declare_since(self, declarations: int) -> None:
        """Declare, unless somebody has begun to after the message was published."""
        async with self._declaring:
            if self._declarations == declarations:
                _LOG.warning("a retry tier or parking lot is gone: the topology is declared again")
                await self._declare()
                self._declarations += 1


def _is_nowhere(outcome: Outcome) -> bool:
    return isinstance(outcome, Rejected) and outcome.reason in NOWHERE
