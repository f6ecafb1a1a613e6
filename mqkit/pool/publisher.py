"""Publishing with an outcome: confirmed, rejected, or unknown - never an exception for those.

A few lanes (:mod:`mqkit.pool.lane`) hold a channel each; all callers share them, and their messages
travel together. One deadline covers everything: waiting for a connection, waiting while the broker
blocks, waiting for room behind what others have published (:mod:`mqkit.pool.backlog`), publishing,
the confirm, and publishing again what a lost connection left in doubt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from time import perf_counter
from typing import TypeAlias

from mqkit.errors import Closed
from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool.backlog import UNKNOWN_SIZE, WAITING_OCTETS_MAX, Backlog, Place
from mqkit.pool.batch import Batch, BatchRun
from mqkit.pool.calls import Calls
from mqkit.pool.channel_pool import ChannelPool
from mqkit.pool.job import blocked, too_large, unsettled
from mqkit.pool.lane import WRITE_BYTES_MAX, Gate, Lane
from mqkit.pool.single import Single
from mqkit.pool.terms import Terms, WhenBlocked
from mqkit.publishing.message_ids import identified
from mqkit.timing.clock import SYSTEM_CLOCK, Clock

DEADLINE_S = 30.0
LANES = 2
WINDOW = 1000

Fill: TypeAlias = Callable[[Message], Message]
"""Makes a message of one that has no body yet. May raise what its caller is to hear."""

OnOutcome: TypeAlias = Callable[[Message, Outcome, float], None]
"""Called with a message, what its publish came to, and the moment of the call by
``time.perf_counter``; on the event loop, before the caller has the outcome. Must not raise."""

_load = attrgetter("load")


class Publisher:
    """An async context manager; leave it before the pool is closed.

    A message whose confirm was lost with the connection is published again, under the same
    ``message_id``, as long as the deadline allows: the broker may get it twice then, and a consumer
    can tell by the id. A call that says ``resend=False`` has ``Unknown`` instead. A message that
    has no ``message_id`` is given one.

    While the broker blocks publishers, calls wait; with ``on_blocked="fail"``, and in a call that
    says so, what was not written yet is rejected at once. Bodies of at most
    ``waiting_octets_max`` octets wait to be written; further calls wait before theirs are made.
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
        on_blocked: WhenBlocked = "wait",
        waiting_octets_max: int = WAITING_OCTETS_MAX,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._gate = gate
        self._max_message_bytes = max_message_bytes
        self._deadline_s = deadline_s
        self._terms = Terms().but(True, on_blocked)
        self._clock = clock
        self.backlog = Backlog(waiting_octets_max)
        self._lanes = [
            Lane(pool, gate, self.backlog, window=window, clock=clock) for _ in range(lanes)
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._calls = Calls(clock)
        self._forget_gate: Callable[[], None] = _nothing
        self._on_outcome: OnOutcome | None = None

    def tell(self, on_outcome: OnOutcome) -> None:
        """Have ``on_outcome`` told of each outcome of :meth:`publish` from now on; a call that
        raises has none. Not of batches: these can be surrounded, and a lone message is cheaper than
        a coroutine around it."""
        self._on_outcome = on_outcome

    async def __aenter__(self) -> Publisher:
        self._forget_gate = self._gate.on_blocked(self._refuse)
        self._tasks = [asyncio.create_task(lane.run()) for lane in self._lanes]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def unsettled(self) -> int:
        """The number of calls of publish that wait for their outcomes."""
        return len(self._calls)

    async def publish(
        self,
        message: Message,
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        fill: Fill | None = None,
    ) -> Outcome:
        """Publish one message and say what came of it, within ``deadline_s`` seconds.

        With ``fill``, ``message`` has no body yet: ``fill`` makes the message of it when there is
        room for it. That is for who has found no room in :attr:`backlog`, or a line.

        Raises what made the client's first start fail, if it has,
        :exc:`~mqkit.errors.Closed` once the client is closed, and
        :exc:`~mqkit.errors.ConfigurationError` for arguments that make no sense.
        """
        begun_s = 0.0 if self._on_outcome is None else perf_counter()
        terms = self._terms
        if resend is not True or on_blocked is not None:
            terms = terms.but(resend, on_blocked)
        if message.properties.message_id is None:
            message = identified(message)
        octets = len(message.body)
        if octets > self._max_message_bytes:
            return self._told(message, too_large(message, self._max_message_bytes), begun_s)
        if not self._tasks:
            raise Closed("the publisher is not open")
        if terms.fails_when_blocked and (reason := self._gate.blocked) is not None:
            return self._told(message, blocked(message, reason), begun_s)
        left_s = allowed_s = self._deadline_s if deadline_s is None else deadline_s
        backlog = self.backlog
        if fill is not None or octets > backlog.room or backlog.line:
            joined_s = self._clock.monotonic_s()
            answer = await self._in_line(message, fill, terms, allowed_s)
            if not isinstance(answer, Message):
                return self._told(message, answer, begun_s)
            message, left_s = answer, allowed_s - (self._clock.monotonic_s() - joined_s)
            octets = len(message.body)
        done: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
        single = Single(message, done, terms)
        min(self._lanes, key=_load).put_single(single, octets, alone=not self._calls)
        call = self._calls.begin(single, left_s)
        try:
            outcome = await done
        finally:
            self._calls.end(call)
            done.cancel()  # without its caller, it needs not be published any more
        if outcome is None:
            outcome = unsettled(message, single.written, self._why_unsettled(allowed_s))
        return outcome if self._on_outcome is None else self._told(message, outcome, begun_s)

    async def publish_batch(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]:
        """Publish the messages in order on one channel, pipelined; one outcome each, in order.

        The deadline is for all of them together. Raises as :meth:`publish`.
        """
        terms = self._terms.but(resend, on_blocked)
        batch = Batch(
            [
                message if message.properties.message_id is not None else identified(message)
                for message in messages
            ],
            terms,
        )
        for position in batch.larger_than(self._max_message_bytes):
            batch.settle(position, (too_large(batch.messages[position], self._max_message_bytes),))
        runs = batch.runs(WRITE_BYTES_MAX)
        if not runs:
            return batch.outcomes("")
        if not self._tasks:
            raise Closed("the publisher is not open")
        if terms.fails_when_blocked and (reason := self._gate.blocked) is not None:
            return _refused(batch, runs, reason)
        left_s = allowed_s = self._deadline_s if deadline_s is None else deadline_s
        octets = sum(run.octets for run in runs)
        if octets > self.backlog.room or self.backlog.line:
            begun_s = self._clock.monotonic_s()
            with self._place(octets, terms, allowed_s) as place:
                if not await self.backlog.turn(place):
                    if place.blocked is not None:
                        return _refused(batch, runs, place.blocked)
                    return batch.outcomes(self._why_unsettled(allowed_s))
            left_s -= self._clock.monotonic_s() - begun_s
        min(self._lanes, key=_load).put(runs, octets)
        call = self._calls.begin(batch, left_s)
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
        forget, self._forget_gate = self._forget_gate, _nothing
        forget()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._calls.close()
        for call in self._calls:
            call.fail(Closed("the publisher was closed"))

    # -- waiting for room --------------------------------------------------------------------

    async def _in_line(
        self, message: Message, fill: Fill | None, terms: Terms, allowed_s: float
    ) -> Message | Outcome:
        """Wait until there is room for the message, and have it made; or its outcome."""
        octets = len(message.body) if fill is None else UNKNOWN_SIZE
        with self._place(octets, terms, allowed_s) as place:
            admitted = await self.backlog.turn(place)
            if admitted and fill is not None:
                message = fill(message)
                if len(message.body) > self._max_message_bytes:
                    return too_large(message, self._max_message_bytes)
                place.octets = len(message.body)
                admitted = await self.backlog.turn(place)
        if admitted:
            return message
        if place.blocked is not None:
            return blocked(message, place.blocked)
        return unsettled(message, False, self._why_unsettled(allowed_s))

    @contextmanager
    def _place(self, octets: int, terms: Terms, allowed_s: float) -> Iterator[Place]:
        place = Place(terms, octets)
        self.backlog.join(place)
        call = self._calls.begin(place, allowed_s)
        try:
            yield place
        finally:
            self._calls.end(call)
            self.backlog.leave(place)

    # -- its own -----------------------------------------------------------------------------

    def _refuse(self, reason: str) -> None:
        """The broker begins to block."""
        for lane in self._lanes:
            lane.refuse(reason)
        self.backlog.refuse(reason)

    def _told(self, message: Message, outcome: Outcome, begun_s: float) -> Outcome:
        """The outcome, which was told where somebody wants to know it."""
        if self._on_outcome is not None:
            self._on_outcome(message, outcome, begun_s)
        return outcome

    def _why_unsettled(self, allowed_s: float) -> str:
        return f"within {allowed_s:g} s (client: {self._gate.describe()})"


def _refused(batch: Batch, runs: Sequence[BatchRun], reason: str) -> list[Outcome]:
    """The broker blocks, and nothing of the batch was put."""
    for run in runs:
        run.refuse(reason)
    return batch.outcomes("")


def _nothing() -> None:
    """There is no gate to be forgotten by."""
