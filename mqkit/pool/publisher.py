"""Publishing with an outcome: confirmed, rejected, or unknown - never an exception for those.

A few lanes (:mod:`mqkit.pool.lane`) hold a channel each; all callers share them, and their messages
travel together. One deadline covers everything: waiting for a connection, waiting while the broker
blocks, publishing, the confirm, and publishing again what a lost connection left in doubt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from mqkit.clock import SYSTEM_CLOCK, Clock
from mqkit.errors import Closed
from mqkit.message import Message
from mqkit.message_ids import new_message_id
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.batch import Batch
from mqkit.pool.calls import Calls
from mqkit.pool.channel_pool import ChannelPool
from mqkit.pool.job import unsettled
from mqkit.pool.lane import WRITE_BYTES_MAX, Gate, Lane
from mqkit.pool.single import Single

DEADLINE_S = 30.0
LANES = 2
WINDOW = 1000

_load = attrgetter("load")


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
        self._lanes = [
            Lane(pool, gate, window=window, retry_unknown=retry_unknown, clock=clock)
            for _ in range(lanes)
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._calls = Calls(clock)

    async def __aenter__(self) -> Publisher:
        self._tasks = [asyncio.create_task(lane.run()) for lane in self._lanes]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def unsettled(self) -> int:
        """The number of calls of publish that wait for their outcomes."""
        return len(self._calls)

    async def publish(self, message: Message, *, deadline_s: float | None = None) -> Outcome:
        """Publish one message and say what came of it, within ``deadline_s`` seconds.

        Raises what made the client's first start fail, if it has, and
        :exc:`~mqkit.errors.Closed` once the client is closed.
        """
        if message.properties.message_id is None:
            message = _identified(message)
        if len(message.body) > self._max_message_bytes:
            return self._too_large(message)
        if not self._tasks:
            raise Closed("the publisher is not open")
        allowed_s = self._deadline_s if deadline_s is None else deadline_s
        done: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
        single = Single(message, done)
        min(self._lanes, key=_load).put_single(single, alone=not self._calls)
        call = self._calls.begin(single, allowed_s)
        try:
            outcome = await done
        finally:
            self._calls.end(call)
            done.cancel()  # without its caller, it needs not be published any more
        if outcome is None:
            why = unsettled(single.written, self._why_unsettled(allowed_s))
            return Unknown(why, message.properties.message_id)
        return outcome

    async def publish_batch(
        self, messages: Sequence[Message], *, deadline_s: float | None = None
    ) -> list[Outcome]:
        """Publish the messages in order on one channel, pipelined; one outcome each, in order.

        The deadline is for all of them together. Raises as :meth:`publish`.
        """
        allowed_s = self._deadline_s if deadline_s is None else deadline_s
        batch = Batch(
            [
                message if message.properties.message_id is not None else _identified(message)
                for message in messages
            ]
        )
        for position in batch.larger_than(self._max_message_bytes):
            batch.settle(position, (self._too_large(batch.messages[position]),))
        runs = batch.runs(WRITE_BYTES_MAX)
        if not runs:
            return batch.outcomes("")
        if not self._tasks:
            raise Closed("the publisher is not open")
        min(self._lanes, key=_load).put(runs)
        call = self._calls.begin(batch, allowed_s)
        try:
            await batch.done
            why = self._why_unsettled(allowed_s) if batch.missing else ""
            return batch.outcomes(why)
        finally:
            self._calls.end(call)
            batch.abandon()

    async def drain(self) -> None:
        """Return when every call of publish that is under way has its outcomes."""
        while self._calls:
            await asyncio.wait([call.done for call in self._calls])
            await asyncio.sleep(0)  # let the callers take their outcomes, and leave

    async def close(self) -> None:
        """Stop. Calls under way raise :exc:`~mqkit.errors.Closed`; drain first to let them end."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._calls.close()
        for call in self._calls:
            call.fail(Closed("the publisher was closed"))

    def _why_unsettled(self, allowed_s: float) -> str:
        return f"within {allowed_s:g} s (client: {self._gate.describe()})"

    def _too_large(self, message: Message) -> Rejected:
        detail = (
            f"{len(message.body)} bytes; the limit is {self._max_message_bytes} (max_message_bytes)"
        )
        return Rejected(RejectReason.TOO_LARGE, detail, message.properties.message_id)


def _identified(message: Message) -> Message:
    return replace(message, properties=replace(message.properties, message_id=new_message_id()))
