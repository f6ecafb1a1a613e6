"""Publishers: lanes that publish one message or one batch at a time, and write down what came of
it. Some publishes are cancelled, some go where nobody takes them."""

from __future__ import annotations

import asyncio
import random
from itertools import count

import mqkit
from interop.chaos.application.errand import Errand, a_deed
from interop.chaos.facts import FactsFile
from interop.chaos.layout import EXCHANGE, NARROW, NO_EXCHANGE, NO_KEY, WORK

LANES = 3
"""Publishes that one publisher has under way at once, at most."""
PAUSE_S = 0.12
DEADLINES_S = (0.6, 4.0)
CANCELLED_SHARE = 0.02
CANCELLED_WITHIN_S = 0.02
BATCH_SHARE = 0.03
BATCH_SIZES = (2, 20)


class Publisher:
    """Publisher ``number`` of ``app``. Its message ids begin with ``p``, and none is used twice."""

    def __init__(self, number: int, app: mqkit.App, facts: FactsFile, seed: int) -> None:
        self._number = number
        self._app = app
        self._facts = facts
        self._chance = random.Random(f"publisher {number} of {seed}")
        self._serials = count()

    async def run(self, stop: asyncio.Event) -> None:
        """Publish until ``stop``, and end when all that is under way has an outcome."""
        await asyncio.gather(*(self._lane(stop) for _ in range(LANES)))

    async def _lane(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await asyncio.sleep(self._chance.expovariate(1 / PAUSE_S))
            deadline_s = round(self._chance.uniform(*DEADLINES_S), 3)
            size = 1
            if self._chance.random() < BATCH_SHARE:
                size = self._chance.randint(*BATCH_SIZES)
            messages = [self._message() for _ in range(size)]
            for message in messages:
                self._facts.write(
                    "publish",
                    id=message.properties.message_id,
                    publisher=self._number,
                    queue=message.routing_key,
                    deadline_s=deadline_s,
                )
            publishing = asyncio.create_task(self._publish(messages, deadline_s))
            if self._chance.random() < CANCELLED_SHARE:
                await asyncio.sleep(self._chance.uniform(0, CANCELLED_WITHIN_S))
                publishing.cancel()
            await self._tell(publishing, messages)

    async def _publish(
        self, messages: list[mqkit.Message], deadline_s: float
    ) -> list[mqkit.Outcome]:
        if len(messages) > 1:
            return await self._app.publish_batch(messages, deadline=deadline_s)
        (message,) = messages
        outcome = await self._app.publish(
            message.exchange,
            message.routing_key,
            message.body,
            message_id=message.properties.message_id,
            deadline=deadline_s,
        )
        return [outcome]

    async def _tell(
        self, publishing: asyncio.Task[list[mqkit.Outcome]], messages: list[mqkit.Message]
    ) -> None:
        ids = [message.properties.message_id for message in messages]
        await asyncio.wait([publishing])
        if publishing.cancelled():
            for message_id in ids:
                self._facts.write("cancelled", id=message_id)
            return
        error = publishing.exception()
        if error is not None:
            for message_id in ids:
                self._facts.write("raised", id=message_id, error=repr(error))
            return
        for message_id, outcome in zip(ids, publishing.result(), strict=True):
            reason = outcome.reason.name if isinstance(outcome, mqkit.Rejected) else ""
            detail = "" if isinstance(outcome, mqkit.Confirmed) else outcome.detail
            self._facts.write(
                "outcome",
                id=message_id,
                publisher=self._number,
                was=type(outcome).__name__,
                named=outcome.message_id,
                reason=reason,
                detail=detail,
            )

    def _message(self) -> mqkit.Message:
        errand = Errand(id=f"p{self._number}-{next(self._serials)}", deed=a_deed(self._chance))
        exchange, key = self._chance.choice((EXCHANGE, "")), self._chance.choice(WORK)
        astray = self._chance.random()
        if astray < 0.005:
            exchange, key = NO_EXCHANGE, NO_KEY
        elif astray < 0.015:
            key = NO_KEY
        elif astray < 0.025:
            exchange, key = "", NARROW
        return mqkit.App.message(exchange, key, errand, message_id=errand.id)
