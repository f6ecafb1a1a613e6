"""Consuming with the ack before the handler: for messages of which it is better to lose one than to
handle it twice.

What fails after the ack is counted and logged, and is neither retried nor parked; a body that does
not fit its handler is no exception. The prefetch bounds what arrives, as for every consumer.
"""

from __future__ import annotations

import asyncio

from mqkit.consumer.answerer import AnsweredWithError, LateQuestion
from mqkit.consumer.consumer import Consumer
from mqkit.consumer.settlement import HANDLED
from mqkit.consumer.settlement_steps import Arrival
from mqkit.retry.signals import Unavailable


class AckBeforeConsumer(Consumer):
    """A consumer whose messages are acked when their handlers are about to begin."""

    keeps_unavailable = False

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        settler = self._settler
        if not await settler.ack(arrival):
            return None  # it will be delivered again, and nothing has been done for it yet
        settler.count(HANDLED)
        # The ack leaves at the end of this turn of the event loop. A handler that ends the process
        # must not take it along: its message would come again, and end the next process.
        await asyncio.sleep(0)
        raised = await self._outcome(arrival.delivery)
        if raised is not None and not isinstance(raised, (LateQuestion, AnsweredWithError)):
            settler.failed_too_late(arrival.delivery, raised)
        return raised if isinstance(raised, Unavailable) else None
