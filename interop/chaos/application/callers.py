"""Callers: lanes that ask one question at a time, and write down what came back, and when. Several
questions with one message id are under way at any time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import mqkit
from interop.chaos.facts import FactsFile
from interop.chaos.layout import ASK

LANES = 5
PAUSE_S = 0.25
DEADLINES_S = (0.15, 2.5)
CANCELLED_SHARE = 0.02
CANCELLED_WITHIN_S = 0.05
MESSAGE_IDS = ("q-0", "q-1", "q-2")


class Caller:
    """Caller ``number`` of ``app``. ``numbers`` are the questions; all callers share it."""

    def __init__(
        self, number: int, app: mqkit.App, facts: FactsFile, seed: int, numbers: Iterator[int]
    ) -> None:
        self._number = number
        self._app = app
        self._facts = facts
        self._chance = random.Random(f"caller {number} of {seed}")
        self._numbers = numbers

    async def run(self, stop: asyncio.Event) -> None:
        """Ask until ``stop``, and end when every call has ended."""
        await asyncio.gather(*(self._lane(stop) for _ in range(LANES)))

    async def _lane(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await asyncio.sleep(self._chance.expovariate(1 / PAUSE_S))
            question = next(self._numbers)
            deadline_s = round(self._chance.uniform(*DEADLINES_S), 3)
            message_id = self._chance.choice(MESSAGE_IDS)
            self._facts.write(
                "call", number=question, caller=self._number, deadline_s=deadline_s, id=message_id
            )
            calling = asyncio.create_task(self._call(question, message_id, deadline_s))
            if self._chance.random() < CANCELLED_SHARE:
                await asyncio.sleep(self._chance.uniform(0, CANCELLED_WITHIN_S))
                calling.cancel()
            await calling

    async def _call(self, question: int, message_id: str, deadline_s: float) -> None:
        try:
            answer = await self._app.call(
                "", ASK, question, reply=int, message_id=message_id, deadline=deadline_s
            )
        except asyncio.CancelledError:
            self._facts.write("call cancelled", number=question)
        except mqkit.RemoteError as error:
            self._facts.write(
                "remote error", number=question, kind=error.error_type, text=error.text
            )
        except Exception as error:  # noqa: BLE001 - the checker judges which it may be
            self._facts.write(
                "call failed", number=question, error=type(error).__name__, text=str(error)
            )
        else:
            self._facts.write("answered", number=question, answer=answer)
