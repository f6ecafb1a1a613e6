"""A lane: one borrowed channel, the messages that queue for it, and a bounded window in flight.

Concurrent publishers meet here: whatever has queued up while the last piece was being written goes
out together with the next. A lane keeps the order of what it is given, but for what is published
again after a failure.

What a channel left in doubt is published again on the next one, in its old order, before anything
new. If it was the broker who closed the channel, one of them may be the reason: they go one by one
then, each with nothing else in flight, so that the guilty one is found and rejected and the
others get through.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from mqkit.backoff import Backoff
from mqkit.clock import Clock
from mqkit.errors import ChannelError, Closed, MqkitError
from mqkit.outcome import Outcome, Unknown
from mqkit.pool.batch import Job
from mqkit.pool.channel_pool import ChannelPool
from mqkit.transport.seam import Channel

WRITE_BYTES_MAX = 8 * 1024 * 1024
"""Bodies handed to a channel in one go: encoding copies them, so this bounds the copies."""

RETRY_FIRST_S = 0.05
RETRY_MAX_S = 5.0


class Gate(Protocol):
    """Who knows whether publishing makes sense now: the supervisor."""

    async def wait_writable(self) -> None:
        """Return when it does. Raises when it never will again."""
        ...

    def describe(self) -> str:
        """What is being waited for, in words."""
        ...


class _Held:
    """The lane's channel of the moment, and why it closed."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.refused = False


class Lane:
    """Run :meth:`run` in a task; feed it with :meth:`put`."""

    def __init__(
        self, pool: ChannelPool, gate: Gate, *, window: int, retry_unknown: bool, clock: Clock
    ) -> None:
        self._pool = pool
        self._gate = gate
        self._window = window
        self._retry_unknown = retry_unknown
        self._clock = clock
        self._backoff = Backoff(RETRY_FIRST_S, RETRY_MAX_S)
        self._queue: deque[Job] = deque()
        self._again: deque[Job] = deque()
        self._in_flight = 0
        self._solo = False
        self._wake = asyncio.Event()
        self._failure: BaseException | None = None

    @property
    def load(self) -> int:
        """How many messages it is busy with."""
        return len(self._queue) + len(self._again) + self._in_flight

    def put(self, jobs: Iterable[Job]) -> None:
        """Publish these, after what is queued. Each job's batch hears of the outcome."""
        self._queue.extend(jobs)
        if self._failure is not None:
            self._fail_queued(self._failure)
        self._wake.set()

    async def run(self) -> None:
        """Publish what is put, until cancelled or until the client is closed for good."""
        try:
            while True:
                while not self._has_work():
                    await self._sleep()
                await self._gate.wait_writable()
                await self._work()
        except Exception as error:  # noqa: BLE001 - whatever it is, callers must not wait for ever
            self._failure = error
            self._fail_queued(error)

    async def _work(self) -> None:
        """Borrow a channel and use it while it lasts."""
        try:
            async with self._pool.borrow() as channel:
                self._backoff.reset()
                await self._pump(channel)
        except Closed:
            raise
        except MqkitError:
            await self._clock.sleep(self._backoff.next_s())

    async def _pump(self, channel: Channel) -> None:
        held = _Held(channel)
        channel.on_closed(partial(self._channel_closed, held))
        while channel.is_open:
            await self._gate.wait_writable()
            jobs = self._take()
            if jobs:
                await self._write(held, jobs)
            elif channel.is_open:
                await self._sleep()

    def _take(self) -> list[Job]:
        """What may be written now: within the window, and within the bound on bytes."""
        jobs: list[Job] = []
        octets = 0
        while not self._solo and self._in_flight + len(jobs) < self._window:
            source = self._again or self._queue
            if not source or octets >= WRITE_BYTES_MAX:
                break
            job = source[0]
            if job.alone and not job.batch.is_over:
                if jobs or self._in_flight:
                    break
                self._solo = True
            source.popleft()
            if not job.batch.is_over:
                octets += len(job.message.body)
                jobs.append(job)
        return jobs

    async def _write(self, held: _Held, jobs: list[Job]) -> None:
        futures = await held.channel.publish_many([job.message for job in jobs])
        self._in_flight += len(futures)
        for job, future in zip(jobs, futures, strict=True):
            job.writes += 1
            future.add_done_callback(partial(self._answered, held, job))

    def _answered(self, held: _Held, job: Job, future: asyncio.Future[Outcome]) -> None:
        self._in_flight -= 1
        self._solo = False
        outcome = future.result()
        if isinstance(outcome, Unknown) and self._retry_unknown and not job.batch.is_over:
            job.alone = held.refused
            self._again.append(job)
        else:
            job.batch.settle(job.index, outcome)
        self._wake.set()

    def _channel_closed(self, held: _Held, error: MqkitError | None) -> None:
        held.refused = isinstance(error, ChannelError)
        self._wake.set()

    def _has_work(self) -> bool:
        return bool(self._queue or self._again)

    async def _sleep(self) -> None:
        self._wake.clear()
        await self._wake.wait()

    def _fail_queued(self, error: BaseException) -> None:
        for queue in (self._again, self._queue):
            while queue:
                queue.popleft().batch.fail(error)
