"""Publishing with an outcome: confirmed, rejected, or unknown - never an exception for those.

A few lanes (:mod:`mqkit.pool.lane`) hold a channel each; all callers share them, and their messages
travel together. One deadline covers everything: waiting for a connection, waiting while the broker
blocks, publishing, the confirm, and publishing again what a lost connection left in doubt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from mqkit.clock import SYSTEM_CLOCK, Clock
from mqkit.errors import Closed
from mqkit.message import Message
from mqkit.outcome import Outcome, Rejected, RejectReason
from mqkit.pool.batch import Batch, Job
from mqkit.pool.channel_pool import ChannelPool
from mqkit.pool.lane import Gate, Lane

DEADLINE_S = 30.0
LANES = 2
WINDOW = 1000


class Publisher:
    """An async context manager; leave it before the pool is closed.

    ``retry_unknown``: publish a message again, under the same ``message_id``, when its confirm was
    lost with the connection and the deadline allows. On by default: the broker may get a message
    twice then, and a consumer can tell by the id; without it, it may get none. A message that has
    no ``message_id`` is given one.
    """

    def __init__(
        self,
        pool: ChannelPool,
        gate: Gate,
        *,
        max_message_bytes: int,
        lanes: int = LANES,
        window: int = WINDOW,
        deadline_s: float = DEADLINE_S,
        retry_unknown: bool = True,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._gate = gate
        self._max_message_bytes = max_message_bytes
        self._deadline_s = deadline_s
        self._clock = clock
        self._lanes = [
            Lane(pool, gate, window=window, retry_unknown=retry_unknown, clock=clock)
            for _ in range(lanes)
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._batches: dict[Batch, None] = {}

    async def __aenter__(self) -> Publisher:
        self._tasks = [asyncio.create_task(lane.run()) for lane in self._lanes]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def unsettled(self) -> int:
        """How many calls of publish are waiting for their outcomes."""
        return len(self._batches)

    async def publish(self, message: Message, *, deadline_s: float | None = None) -> Outcome:
        """Publish one message and say what came of it, within ``deadline_s`` seconds.

        Raises what made the client's first start fail, if it has, and
        :exc:`~mqkit.errors.Closed` once the client is closed.
        """
        outcomes = await self.publish_batch([message], deadline_s=deadline_s)
        return outcomes[0]

    async def publish_batch(
        self, messages: Sequence[Message], *, deadline_s: float | None = None
    ) -> list[Outcome]:
        """Publish the messages in order on one channel, pipelined; one outcome each, in order.

        The deadline is for all of them together. Raises as :meth:`publish`.
        """
        allowed_s = self._deadline_s if deadline_s is None else deadline_s
        batch = Batch([_identified(message) for message in messages])
        jobs = [job for job in batch.jobs if not self._too_large(job)]
        if jobs:
            if not self._tasks:
                raise Closed("the publisher is not open")
            min(self._lanes, key=lambda lane: lane.load).put(jobs)
        self._batches[batch] = None
        try:
            async with self._clock.timeout(allowed_s):
                await batch.done
        except TimeoutError:
            pass
        finally:
            self._batches.pop(batch, None)
            batch.abandon()
        return batch.outcomes(f"within {allowed_s:g} s (client: {self._gate.describe()})")

    async def drain(self) -> None:
        """Return when every call of publish that is under way has its outcomes."""
        while self._batches:
            await asyncio.wait([batch.done for batch in self._batches])
            await asyncio.sleep(0)  # let the callers take their outcomes, and leave

    async def close(self) -> None:
        """Stop. Calls under way raise :exc:`~mqkit.errors.Closed`; drain first to let them end."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for batch in tuple(self._batches):
            batch.fail(Closed("the publisher was closed"))

    def _too_large(self, job: Job) -> bool:
        size = len(job.message.body)
        if size <= self._max_message_bytes:
            return False
        detail = f"{size} bytes; the limit is {self._max_message_bytes} (max_message_bytes)"
        job.batch.settle(
            job.index,
            Rejected(RejectReason.TOO_LARGE, detail, job.message.properties.message_id),
        )
        return True


def _identified(message: Message) -> Message:
    if message.properties.message_id is not None:
        return message
    return replace(message, properties=replace(message.properties, message_id=uuid4().hex))
